package conform

// Remote memory access (fi_rma(3), fi_mr(3)): keys, limits, sizes, many pending operations.

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"gofabric/core"
)

// rmaRegions checks keys: requested ones, duplicates, provider-chosen ones, regions after Close.
func rmaRegions(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	mem := make([]byte, 100)
	reg := func(key uint64) (*core.MemoryRegion, error) {
		return p.B.RegAttr(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: key})
	}
	one := must(t, "RegMR", func() (*core.MemoryRegion, error) { return reg(4711) })
	mode := p.B.Info.Domain.MRMode
	if mode&core.MRModeProvKey == 0 {
		if one.Key() != 4711 {
			t.Errorf("key %d; want the requested one", one.Key())
		}
		if _, err := reg(4711); !errors.Is(err, core.ErrNoKey) {
			t.Errorf("second region with the same key: %v; want ErrNoKey", err)
		}
	}
	if (mode&core.MRModeVirtAddr == 0) != (one.Base() == 0) {
		t.Errorf("base %#x with %v", one.Base(), mode)
	}
	if _, err := p.B.RegAttr(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: 1, Offset: 8}); !oneOf(err, core.ErrInval, core.ErrBadFlags) {
		t.Errorf("region with an offset: %v; want ErrInval", err)
	}
	for _, iov := range [][][]byte{nil, {}, {nil}, {mem[:0]}, {mem, mem}} {
		for _, access := range []core.Access{allAccess, core.AccessSend | core.AccessRecv} {
			_, err := p.B.RegAttr(&core.MRAttr{IOV: iov, Access: access, RequestedKey: 2})
			refuse(t, fmt.Sprintf("region of %d buffers, %d bytes", len(iov), sizeOf(iov)), err, core.ErrInval)
		}
	}
	p.B.ok("Close MR", one.Close())
	again := must(t, "RegMR with a freed key", func() (*core.MemoryRegion, error) { return reg(4711) })
	p.B.ok("Close MR", again.Close())

	pk := Open(t, st, WithCaps(core.CapRMA), WithMRMode(core.MRModeVirtAddr|core.MRModeProvKey|core.MRModeAllocated))
	if pk.B.Info.Domain.MRMode&core.MRModeProvKey == 0 {
		t.Log("MRModeProvKey was requested and cleared, as in native where it is not needed: the application chooses keys")
		return
	}
	keys := map[uint64]bool{}
	var mrs []*core.MemoryRegion
	for range 50 {
		mr := must(t, "RegMR", func() (*core.MemoryRegion, error) {
			return pk.B.RegAttr(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: 5})
		})
		if keys[mr.Key()] || mr.Key() == core.KeyNotAvail {
			t.Errorf("provider chose key %#x twice or a reserved one", mr.Key())
		}
		keys[mr.Key()] = true
		mrs = append(mrs, mr)
	}
	for _, mr := range mrs {
		pk.B.ok("Close MR", mr.Close())
	}
}

// sizeOf returns the total length of a list of buffers.
func sizeOf(iov [][]byte) (n int) {
	for _, b := range iov {
		n += len(b)
	}
	return n
}

// rmaLimits checks that calls beyond a limit are refused.
func rmaLimits(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	a := p.A
	bad := []core.Errno{core.ErrInval, core.ErrMsgSize, core.Err2Big}
	big := make([]byte, a.Info.Tx.InjectSize+1)
	many := split(make([]byte, 64), a.Info.Tx.IOVLimit+1)
	refuse(t, "inject_write of more than the inject size", a.EP.InjectWrite(big, a.Peer, 0, 1), bad...)
	refuse(t, "inject_writedata of more than the inject size", a.EP.InjectWriteData(big, 1, a.Peer, 0, 1), bad...)
	refuse(t, "writev with too many iovs", a.EP.WriteV(many, nil, a.Peer, 0, 1, 1), bad...)
	refuse(t, "readv with too many iovs", a.EP.ReadV(many, nil, a.Peer, 0, 1, 1), bad...)
	refuse(t, "writemsg with too many remote iovs",
		a.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{big}, Addr: a.Peer,
			RMAIOV: riov(0, 1, len(big), a.Info.Tx.RMAIOVLimit+1), Ctx: 1}, 0), bad...)
	refuse(t, "writemsg with unequal lengths",
		a.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{big}, Addr: a.Peer, RMAIOV: riov(0, 1, len(big)-1, 1), Ctx: 1}, 0),
		bad...)
	refuse(t, "readmsg with unequal lengths",
		a.EP.ReadMsg(&core.RMAArgs{IOV: [][]byte{big}, Addr: a.Peer, RMAIOV: riov(0, 1, len(big)+1, 2), Ctx: 1}, 0),
		bad...)
	p.WantNone(a)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 50, 1)
}

func rmaLarge(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	n := st.maxSize()
	mem := make([]byte, n)
	mr := p.B.Reg(mem, allAccess)
	src := Pattern(n, 1)
	p.Retry("write", func() error {
		return p.A.EP.WriteMsg(&core.RMAArgs{IOV: p.A.tx(src, 3), Addr: p.A.Peer,
			RMAIOV: p.A.remote(mr.Base(), mr.Key(), n, 2), Ctx: 1}, core.OpDeliveryComplete)
	})
	p.Want(p.A, 1)
	p.Progress()
	CheckPattern(t, "write", mem, n, 1)
	dst := make([]byte, n)
	p.Retry("read", func() error { return p.A.EP.Read(dst, 0, p.A.Peer, mr.Base(), mr.Key(), 2) })
	p.Want(p.A, 2)
	if !bytes.Equal(dst, src) {
		t.Error("read differs from what was written")
	}
	p.B.ok("Close MR", mr.Close())
}

// rmaMany keeps many reads and writes pending in both directions.
func rmaMany(t *testing.T, st Stack) {
	const n, each = 400, 700
	p := Open(t, st, WithCaps(core.CapRMA))
	var mem, local [2][]byte
	var mr [2]*core.MemoryRegion
	for i, s := range []*Side{p.A, p.B} {
		mem[i], local[i] = make([]byte, n*each), Pattern(n*each, uint64(i))
		mr[i] = s.Reg(mem[i], allAccess)
	}
	sides := []*Side{p.A, p.B}
	for k := range n {
		for i, s := range sides {
			r := mr[1-i]
			at := uint64(k * each)
			p.Retry("write", func() error {
				return s.EP.Write(local[i][k*each:(k+1)*each], 0, s.Peer, r.Base()+at, r.Key(), core.OpContext(k))
			})
		}
	}
	back := [2][]byte{make([]byte, n*each), make([]byte, n*each)}
	for k := range n {
		for i, s := range sides {
			r := mr[1-i]
			at := uint64(k * each)
			p.Retry("read", func() error {
				return s.EP.Read(back[i][k*each:(k+1)*each], 0, s.Peer, r.Base()+at, r.Key(), core.OpContext(n+k))
			})
		}
	}
	for k := range 2 * n {
		for _, s := range sides {
			p.Want(s, core.OpContext(k))
		}
	}
	p.Progress()
	for i := range sides {
		if !bytes.Equal(mem[1-i], local[i]) || !bytes.Equal(back[i], local[i]) {
			t.Errorf("side %d: memory differs after %d writes and reads", i, n)
		}
	}
	for i, s := range sides {
		s.ok("Close MR", mr[i].Close())
	}
}

// rmaLocal requests FI_MR_LOCAL and passes descriptors. Where local registration is not needed, GetInfo clears the
// mode, and descriptors are ignored.
func rmaLocal(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA), WithMRMode(core.MRModeLocal))
	mem, local := make([]byte, 1000), Pattern(1000, 1)
	mr := p.B.Reg(mem, allAccess)
	lr := p.A.Reg(local, core.AccessSend|core.AccessRecv|core.AccessRead|core.AccessWrite)
	if p.A.Info.Domain.MRMode&core.MRModeLocal != 0 && lr.Desc() == 0 {
		t.Error("a region of a domain with MRModeLocal has no descriptor")
	}
	p.Retry("write", func() error { return p.A.EP.Write(local, lr.Desc(), p.A.Peer, mr.Base(), mr.Key(), 1) })
	p.Want(p.A, 1)
	settleLocal(p, local[:1], lr, mr)
	CheckPattern(t, "write", mem, 1000, 1)
	p.Retry("recv", func() error { return p.B.Rx().Recv(mem, mr.Desc(), core.AddrUnspec, 2) })
	p.Retry("send", func() error {
		return p.A.EP.SendV([][]byte{local[:10], local[10:]}, []core.Desc{lr.Desc(), lr.Desc()}, p.A.Peer, 3)
	})
	p.Want(p.B, 2)
	p.Want(p.A, 3)
	CheckPattern(t, "send", mem, 1000, 1)
	p.A.ok("Close MR", lr.Close())
	p.B.ok("Close MR", mr.Close())
}

// settleLocal is settle with registered memory.
func settleLocal(p *Pair, b []byte, lr, mr *core.MemoryRegion) {
	p.T.Helper()
	p.Retry("read", func() error { return p.A.EP.Read(b, lr.Desc(), p.A.Peer, mr.Base(), mr.Key(), 0xfeed) })
	p.Want(p.A, 0xfeed)
	p.Progress()
}
