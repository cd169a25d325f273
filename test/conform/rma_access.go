package conform

// Forbidden remote accesses (fi_mr(3)). The initiator gets an error, the target's memory is not touched, and other
// operations continue.

import (
	"sync"
	"testing"

	"gofabric/core"
)

func testAccess(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA) {
		return
	}
	const size = 4096
	cases := []struct {
		name   string
		access core.Access
		read   bool
		off    uint64
		n      int
		keyXor uint64
	}{
		{"write with an unknown key", allAccess, false, 0, 100, 0x5555},
		{"read with an unknown key", allAccess, true, 0, 100, 0x5555},
		{"write behind the end", allAccess, false, size - 50, 51, 0},
		{"read behind the end", allAccess, true, size - 50, 51, 0},
		{"write far outside", allAccess, false, 1 << 40, 100, 0},
		{"write that wraps around", allAccess, false, ^uint64(0) - 49, 100, 0},
		{"read that wraps around", allAccess, true, ^uint64(0) - 49, 100, 0},
		{"large write behind the end", allAccess, false, 1, 100000, 0},
		{"write to a read-only region", allAccess &^ core.AccessRemoteWrite, false, 0, 100, 0},
		{"read of a write-only region", allAccess &^ core.AccessRemoteRead, true, 0, 100, 0},
		{"write to a region for local use", core.AccessSend | core.AccessRecv, false, 0, 100, 0},
	}
	for _, virt := range []core.MRMode{0, core.MRModeVirtAddr | core.MRModeProvKey | core.MRModeAllocated} {
		bystander := Open(t, st, WithCaps(core.CapRMA), WithMRMode(virt))
		by := bystander.B.Reg(make([]byte, 64), allAccess)
		t.Cleanup(func() { bystander.B.ok("Close MR", by.Close()) }) // after all subtests have ended
		var one sync.Mutex
		others := func() {
			one.Lock()
			defer one.Unlock()
			settle(bystander, by)
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel() // a native peer does not report the refusal, so the access must time out
				p := Open(t, st, WithCaps(core.CapRMA), WithMRMode(virt))
				guard := make([]byte, 3*size)
				mr := p.B.Reg(guard[size:2*size], c.access)
				buf := Pattern(c.n, 1)
				post := func() error {
					a := &core.RMAArgs{IOV: [][]byte{buf}, Addr: p.A.Peer,
						RMAIOV: []core.RMAIov{{Addr: mr.Base() + c.off, Len: uint64(c.n), Key: mr.Key() ^ c.keyXor}},
						Ctx:    1}
					if c.read {
						return p.A.EP.ReadMsg(a, 0)
					}
					return p.A.EP.WriteMsg(a, core.OpDeliveryComplete)
				}
				if !p.refusedAtOnce("post", post) {
					if g := p.WantErr(p.A, 1); g.Err.Err == 0 {
						t.Errorf("error entry without an error number: %v", g)
					}
				}
				p.Progress()
				CheckZero(t, "target memory", guard)
				if c.read {
					CheckPattern(t, "buffer of a refused read", buf, c.n, 1)
				}
				others()
				accessAfter(p, mr)
				p.Forget()
				p.B.ok("Close MR", mr.Close())
			})
		}
		t.Run("closed region", func(t *testing.T) {
			t.Parallel()
			p := Open(t, st, WithCaps(core.CapRMA), WithMRMode(virt))
			mem := make([]byte, size)
			mr := p.B.Reg(mem, allAccess)
			settle(p, mr)
			base, key := mr.Base(), mr.Key()
			p.B.ok("Close MR", mr.Close())
			if !p.refusedAtOnce("write", func() error {
				return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{Pattern(8, 1)}, Addr: p.A.Peer,
					RMAIOV: []core.RMAIov{{Addr: base, Len: 8, Key: key}}, Ctx: 1}, core.OpDeliveryComplete)
			}) {
				p.WantErr(p.A, 1)
			}
			p.Progress()
			CheckZero(t, "memory of a closed region", mem)
			p.Forget()
		})
	}
}

// accessAfter checks that an RDM endpoint can still reach the peer after a refused access. At most pending operations
// are lost.
func accessAfter(p *Pair, mr *core.MemoryRegion) {
	p.T.Helper()
	if p.Stack.EPType != core.EPTypeRDM {
		return
	}
	buf := make([]byte, 8)
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 50) })
	delivered := false
	for try := core.OpContext(100); try < 150 && !delivered; try++ {
		p.Retry("send after a refused access", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(8, 3)}, Addr: p.A.Peer, Ctx: try},
				core.OpDeliveryComplete)
		})
		delivered = p.WantEnd(p.A, try, Deadline).Err == nil
	}
	if !delivered {
		p.T.Errorf("the peer cannot be reached after a refused access\n%s", p.Dump())
		return
	}
	p.Want(p.B, 50)
	CheckPattern(p.T, "message after a refused access", buf, 8, 3)
}
