package conform

// Remote memory access (fi_rma(3), fi_mr(3)): all calls and sizes, addressing modes, remote data, order, counters.

import (
	"fmt"
	"testing"

	"gofabric/core"
)

const allAccess = core.AccessSend | core.AccessRecv | core.AccessRead | core.AccessWrite | core.AccessRemoteRead | core.AccessRemoteWrite

func testRMA(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA) {
		p := Open(t, st)
		no := []core.Errno{core.ErrNoSys, core.ErrOpNotSupp}
		refuse(t, "read", p.A.EP.Read(make([]byte, 4), 0, p.A.Peer, 0, 1, 1), no...)
		refuse(t, "write", p.A.EP.Write(make([]byte, 4), 0, p.A.Peer, 0, 1, 1), no...)
		return
	}
	for _, m := range []struct {
		name string
		mode core.MRMode
	}{{"offset", 0}, {"virt", core.MRModeVirtAddr | core.MRModeProvKey | core.MRModeAllocated},
		{"provkey", core.MRModeProvKey}, {"virt+appkey", core.MRModeVirtAddr}, {"endpoint", core.MRModeEndpoint}} {
		t.Run(m.name, func(t *testing.T) {
			p := Open(t, st, WithCaps(core.CapRMA), WithMRMode(m.mode))
			if got := p.B.Info.Domain.MRMode &^ m.mode &^ st.MRMode; got != 0 {
				t.Fatalf("GetInfo returned MR modes %#x that were not offered", got)
			}
			rmaCalls(t, p)
		})
	}
	t.Run("regions", func(t *testing.T) { rmaRegions(t, st) })
	t.Run("local", func(t *testing.T) { rmaLocal(t, st) })
	t.Run("limits", func(t *testing.T) { rmaLimits(t, st) })
	t.Run("large", func(t *testing.T) { rmaLarge(t, st) })
	t.Run("many", func(t *testing.T) { rmaMany(t, st) })
	t.Run("order", func(t *testing.T) { rmaOrder(t, st) })
	t.Run("data", func(t *testing.T) { rmaData(t, st) })
	t.Run("events", func(t *testing.T) { rmaEvents(t, st) })
}

// rmaCall is one way to read or write n bytes at off of a region.
type rmaCall struct {
	name         string
	read, inject bool
	data         bool
	do           func(s *Side, b []byte, addr, key uint64, ctx core.OpContext) error
}

var rmaTable = []rmaCall{
	{"write", false, false, false, func(s *Side, b []byte, a, k uint64, c core.OpContext) error { return s.EP.Write(b, 0, s.Peer, a, k, c) }},
	{"writev", false, false, false, func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
		return s.EP.WriteV(s.tx(b, iovParts), nil, s.Peer, a, k, c)
	}},
	{"writemsg", false, false, false, func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
		return s.EP.WriteMsg(&core.RMAArgs{IOV: s.tx(b, 2), Addr: s.Peer, RMAIOV: s.remote(a, k, len(b), 3), Ctx: c}, 0)
	}},
	{"writemsg+delivery_complete", false, false, false, func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
		return s.EP.WriteMsg(&core.RMAArgs{IOV: s.tx(b, 3), Addr: s.Peer, RMAIOV: s.remote(a, k, len(b), 4), Ctx: c},
			core.OpDeliveryComplete)
	}},
	{"writemsg+data", false, false, true, func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
		return s.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{b}, Addr: s.Peer, RMAIOV: s.remote(a, k, len(b), 1), Ctx: c,
			Data: s.data()}, core.OpRemoteCQData)
	}},
	{"writedata", false, false, true, func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
		return s.EP.WriteData(b, 0, s.data(), s.Peer, a, k, c)
	}},
	{"inject_write", false, true, false, func(s *Side, b []byte, a, k uint64, _ core.OpContext) error {
		return s.EP.InjectWrite(b, s.Peer, a, k)
	}},
	{"inject_writedata", false, true, true, func(s *Side, b []byte, a, k uint64, _ core.OpContext) error {
		return s.EP.InjectWriteData(b, s.data(), s.Peer, a, k)
	}},
	{"read", true, false, false, func(s *Side, b []byte, a, k uint64, c core.OpContext) error { return s.EP.Read(b, 0, s.Peer, a, k, c) }},
	{"readv", true, false, false, func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
		return s.EP.ReadV(s.tx(b, iovParts), nil, s.Peer, a, k, c)
	}},
	{"readmsg", true, false, false, func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
		return s.EP.ReadMsg(&core.RMAArgs{IOV: s.tx(b, 3), Addr: s.Peer, RMAIOV: s.remote(a, k, len(b), 4), Ctx: c}, 0)
	}},
}

// riov splits the n bytes at addr into parts.
func riov(addr, key uint64, n, parts int) []core.RMAIov {
	var out []core.RMAIov
	for i := parts; i > 0; i-- {
		k := uint64(n / i)
		out = append(out, core.RMAIov{Addr: addr, Len: k, Key: key})
		addr += k
		n -= int(k)
	}
	return out
}

// rmaCalls runs each call in each size at an odd offset, and checks the memory on both sides of the range.
func rmaCalls(t *testing.T, p *Pair) {
	const off = 13
	mem := make([]byte, 70000)
	mr := p.B.Reg(mem, allAccess)
	defer func() { p.B.ok("Close MR", mr.Close()) }()
	inj := p.A.Info.Tx.InjectSize
	seed := uint64(1)
	for _, c := range rmaTable {
		for _, n := range []int{0, 1, inj - 1, inj, inj + 1, 4096, 65536} {
			if c.inject && n > inj || n > p.Stack.maxSize() {
				continue
			}
			what := fmt.Sprintf("%s of %d", c.name, n)
			seed++
			p.Progress() // a call into the target's library orders its accesses to memory before ours
			clear(mem)
			local := Pattern(n, seed)
			if c.read {
				copy(mem[off:], local)
				clear(local)
			}
			if c.data {
				p.forData()
			}
			p.Retry(what, func() error { return c.do(p.A, local, mr.Base()+off, mr.Key(), core.OpContext(seed)) })
			if c.inject {
				Fill(local, 1)
			} else {
				g := p.Want(p.A, core.OpContext(seed))
				want := core.CompRMA | core.CompWrite
				if c.read {
					want = core.CompRMA | core.CompRead
				}
				if g.Flags&(core.CompRMA|core.CompMsg|core.CompRead|core.CompWrite|core.CompSend|core.CompRecv) != want {
					t.Errorf("%s: flags %#x, want %#x", what, uint64(g.Flags), uint64(want))
				}
			}
			if c.read {
				CheckPattern(t, what, local, n, seed)
				continue
			}
			if c.data {
				g := p.WantWhere(p.B, what+": remote CQ data",
					func(g *Got) bool { return g.Flags&core.CompRemoteWrite != 0 })
				if g.Err != nil || g.Data != p.A.data() ||
					g.Flags&(core.CompRemoteCQData|core.CompRMA) != core.CompRemoteCQData|core.CompRMA {
					t.Errorf("%s: target saw %v; want CompRMA|CompRemoteWrite|CompRemoteCQData and its data", what, g)
				}
			}
			// Writes complete when they are sent. The read that follows is ordered behind them (FI_ORDER_RAW).
			settle(p, mr)
			CheckPattern(t, what, mem[off:], n, seed)
			CheckZero(t, what+", before the range", mem[:off])
			CheckZero(t, what+", behind the range", mem[off+n:])
		}
	}
}

// forData posts a receive at B for remote CQ data, if the Info says that the data take one (fi_getinfo(3),
// FI_RX_CQ_DATA).
func (p *Pair) forData() {
	p.T.Helper()
	if p.B.takesReceives() {
		p.Retry("recv", func() error { return p.B.Rx().Recv(nil, 0, core.AddrUnspec, 0xda7a) })
	}
}

// takesReceives reports whether remote CQ data take a posted receive.
func (s *Side) takesReceives() bool { return s.Info.Rx.Mode&core.ModeRxCQData != 0 }

// settle waits until all earlier writes of A have reached B's memory.
func settle(p *Pair, mr *core.MemoryRegion) {
	p.T.Helper()
	var b [1]byte
	p.Retry("read", func() error { return p.A.EP.Read(b[:], 0, p.A.Peer, mr.Base(), mr.Key(), 0xfeed) })
	p.Want(p.A, 0xfeed)
	p.Progress()
}
