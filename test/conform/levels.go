package conform

// Completion levels (fi_cq(3), "COMPLETION SEMANTICS"): matched, and committed to persistent memory.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gofabric/core"
	"gofabric/internal/atomics"
)

func testLevels(t *testing.T, st Stack) {
	if st.Foreign {
		levelsRefused(t, st)
		return
	}
	t.Run("match", func(t *testing.T) { matchComplete(t, st) })
	t.Run("matchdefault", func(t *testing.T) { matchDefault(t, st) })
	t.Run("commit", func(t *testing.T) { commitComplete(t, st) })
}

// offersLevel reports whether the stack accepts a completion level as a default of its transmits. All stacks that
// support a level do.
func offersLevel(t *testing.T, st Stack, level core.OpFlags) bool {
	h := st.hints(core.CapMsg)
	h.Tx.OpFlags = level
	_, err := st.info("", h)
	if err != nil {
		t.Logf("%s: no %s: %v", st.Name, level.String(), err)
	}
	return err == nil
}

// levelsRefused checks that a level which the peer does not support is refused with an error.
func levelsRefused(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	reg := p.B.Reg(make([]byte, 64), allAccess)
	p.Retry("sendmsg", func() error {
		return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{still[:8]}, Addr: p.A.Peer, Ctx: 1}, core.OpMatchComplete)
	})
	p.WantErr(p.A, 1, core.ErrOpNotSupp)
	p.Retry("writemsg", func() error {
		return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{still[:8]}, Addr: p.A.Peer,
			RMAIOV: riov(reg.Base(), reg.Key(), 8, 1), Ctx: 2}, core.OpCommitComplete)
	})
	p.WantErr(p.A, 2, core.ErrOpNotSupp)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
	p.B.ok("Close MR", reg.Close())
}

// matchComplete checks that messages complete when they are matched or discarded, and not before, in the receiver's
// order.
func matchComplete(t *testing.T, st Stack) {
	if !offersLevel(t, st, core.OpMatchComplete) {
		return
	}
	tagged := st.Offers(t, core.CapTagged)
	caps := core.CapMsg
	if tagged {
		caps |= core.CapTagged
	}
	for _, n := range []int{0, 8, 5000, 300_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := Open(t, st, WithCaps(caps))
			p.Ping(1) // lets large messages find their carrier
			for round := range uint64(2) {
				p.Retry("sendmsg", func() error {
					return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(n, 1)}, Addr: p.A.Peer, Ctx: 1},
						core.OpMatchComplete)
				})
				if tagged {
					for tag := range uint64(3) {
						p.Retry("tsendmsg", func() error {
							return p.A.EP.TSendMsg(&core.TaggedArgs{IOV: p.A.tx(Pattern(n, tag), 2), Addr: p.A.Peer,
								Tag: tag, Ctx: core.OpContext(10 + tag)}, core.OpMatchComplete)
						})
					}
				}
				p.WantNone(p.A)
				buf := make([]byte, n+1)
				if tagged {
					for _, tag := range []uint64{2, 0} {
						p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, tag, 0, 20) })
						p.Want(p.B, 20)
						p.Want(p.A, core.OpContext(10+tag))
						CheckPattern(t, "message", buf, n, tag)
						p.WantNone(p.A)
					}
					p.Retry("discard", func() error {
						return p.B.Rx().TRecvMsg(&core.TaggedArgs{Addr: core.AddrUnspec, Tag: 1, Ctx: 21},
							core.OpPeek|core.OpDiscard)
					})
					p.Want(p.B, 21)
					p.Want(p.A, 11)
				}
				p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 22) })
				p.Want(p.B, 22)
				p.Want(p.A, 1)
				CheckPattern(t, "message", buf, n, 1)
				// A message with a posted receive.
				p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 23) })
				p.Retry("sendmsg", func() error {
					return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(n, 9+round)}, Addr: p.A.Peer, Ctx: 2},
						core.OpMatchComplete)
				})
				p.Want(p.B, 23)
				p.Want(p.A, 2)
				CheckPattern(t, "message", buf, n, 9+round)
			}
		})
	}
}

// matchDefault uses the level as the default of the plain calls.
func matchDefault(t *testing.T, st Stack) {
	if !offersLevel(t, st, core.OpMatchComplete) {
		return
	}
	p := Open(t, st, WithHints(func(h *core.Info) { h.Tx.OpFlags = core.OpMatchComplete }))
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) }) // an inject has no completion
	p.Retry("send", func() error { return p.A.EP.Send(still[:8], 0, p.A.Peer, 1) })
	p.WantNone(p.A)
	buf := make([]byte, 8)
	for ctx := range core.OpContext(2) {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 10+ctx) })
		p.Want(p.B, 10+ctx)
	}
	p.Want(p.A, 1)
}

// commitComplete writes to a mapped file, and finds the data in the file.
func commitComplete(t *testing.T, st Stack) {
	if !st.Offers(t, core.CapRMA|core.CapRMAPMem) || !offersLevel(t, st, core.OpCommitComplete) {
		return
	}
	const size = 3 * 4096
	name := filepath.Join(t.TempDir(), "memory")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	mem, unmap, err := mapFile(f, size)
	f.Close()
	if err != nil {
		t.Fatalf("no file can be mapped in %s: %v", filepath.Dir(name), err)
	}
	p := Open(t, st, WithCaps(core.CapRMA|core.CapRMAPMem|core.CapAtomic))
	reg := must(t, "RegMR", func() (*core.MemoryRegion, error) {
		return p.B.RegAttr(&core.MRAttr{IOV: [][]byte{mem[100:]}, Access: allAccess,
			RequestedKey: 7, Flags: core.MRRMAPMem})
	})
	check := func(what string, want []byte) {
		t.Helper()
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got[100+5000:][:len(want)], want) {
			t.Errorf("%s: the data are not in the file: %v", what, err)
		}
	}
	for i, n := range []int{1, 300, 6000} {
		p.Retry("writemsg", func() error {
			return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{Pattern(n, uint64(n))}, Addr: p.A.Peer,
				RMAIOV: riov(reg.Base()+5000, reg.Key(), n, 3), Ctx: core.OpContext(i)}, core.OpCommitComplete)
		})
		p.Want(p.A, core.OpContext(i))
		check("write", Pattern(n, uint64(n)))
	}
	want := Pattern(8, 6000)
	ioc := []core.RMAIoc{{Addr: reg.Base() + 5000, Count: 1, Key: reg.Key()}}
	m := &core.AtomicArgs{IOV: [][]byte{Pattern(8, 3)}, Addr: p.A.Peer, RMAIOC: ioc,
		Type: core.Uint64, Op: core.AtomicSum, Ctx: 10}
	p.Retry("atomic", func() error { return p.A.EP.Atomic(m, core.OpCommitComplete) })
	p.Want(p.A, 10)
	_ = atomics.Apply(atomics.Uint64, atomics.Sum, want, Pattern(8, 3))
	check("atomic", want)
	m.Ctx = 11
	result := make([]byte, 8)
	p.Retry("fetch", func() error { return p.A.EP.FetchAtomic(m, [][]byte{result}, nil, core.OpCommitComplete) })
	p.Want(p.A, 11)
	if !bytes.Equal(result, want) {
		t.Errorf("fetched %x, want %x", result, want)
	}
	_ = atomics.Apply(atomics.Uint64, atomics.Sum, want, Pattern(8, 3))
	check("fetch", want)
	p.B.ok("Close MR", reg.Close())
	p.Progress()
	if err := unmap(); err != nil {
		t.Error(err)
	}
}
