package conform

// Remote memory access (fi_rma(3), fi_mr(3)): all calls and sizes, addressing modes, remote data, order, counters.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gofabric/core"
)

const allAccess = core.Send | core.Recv | core.Read | core.Write | core.RemoteRead | core.RemoteWrite

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
	}{{"offset", 0}, {"virt", core.MRModeVirtAddr | core.MRModeProvKey | core.MRModeAllocated}, {"provkey", core.MRModeProvKey}, {"virt+appkey", core.MRModeVirtAddr}, {"endpoint", core.MRModeEndpoint}} {
		t.Run(m.name, func(t *testing.T) {
			p := Open(t, st, WithCaps(core.CapRMA), WithMRMode(m.mode))
			if got := p.B.Info.Domain.MRMode &^ m.mode; got != 0 {
				t.Fatalf("GetInfo returned MR modes %#x that were not offered", got)
			}
			rmaCalls(t, p)
		})
	}
	t.Run("regions", func(t *testing.T) { rmaRegions(t, st) })
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
	do           func(s *Side, b []byte, addr, key uint64, ctx core.Context) error
}

var rmaTable = []rmaCall{
	{"write", false, false, false, func(s *Side, b []byte, a, k uint64, c core.Context) error { return s.EP.Write(b, 0, s.Peer, a, k, c) }},
	{"writev", false, false, false, func(s *Side, b []byte, a, k uint64, c core.Context) error {
		return s.EP.WriteV(split(b, iovParts), nil, s.Peer, a, k, c)
	}},
	{"writemsg", false, false, false, func(s *Side, b []byte, a, k uint64, c core.Context) error {
		return s.EP.WriteMsg(&core.RMAArgs{IOV: split(b, 2), Addr: s.Peer, RMAIOV: riov(a, k, len(b), 3), Ctx: c}, 0)
	}},
	{"writemsg+delivery_complete", false, false, false, func(s *Side, b []byte, a, k uint64, c core.Context) error {
		return s.EP.WriteMsg(&core.RMAArgs{IOV: split(b, 3), Addr: s.Peer, RMAIOV: riov(a, k, len(b), 4), Ctx: c}, core.DeliveryComplete)
	}},
	{"writemsg+data", false, false, true, func(s *Side, b []byte, a, k uint64, c core.Context) error {
		return s.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{b}, Addr: s.Peer, RMAIOV: riov(a, k, len(b), 1), Ctx: c, Data: cqData}, core.RemoteCQData)
	}},
	{"writedata", false, false, true, func(s *Side, b []byte, a, k uint64, c core.Context) error {
		return s.EP.WriteData(b, 0, cqData, s.Peer, a, k, c)
	}},
	{"inject_write", false, true, false, func(s *Side, b []byte, a, k uint64, _ core.Context) error {
		return s.EP.InjectWrite(b, s.Peer, a, k)
	}},
	{"inject_writedata", false, true, true, func(s *Side, b []byte, a, k uint64, _ core.Context) error {
		return s.EP.InjectWriteData(b, cqData, s.Peer, a, k)
	}},
	{"read", true, false, false, func(s *Side, b []byte, a, k uint64, c core.Context) error { return s.EP.Read(b, 0, s.Peer, a, k, c) }},
	{"readv", true, false, false, func(s *Side, b []byte, a, k uint64, c core.Context) error {
		return s.EP.ReadV(split(b, iovParts), nil, s.Peer, a, k, c)
	}},
	{"readmsg", true, false, false, func(s *Side, b []byte, a, k uint64, c core.Context) error {
		return s.EP.ReadMsg(&core.RMAArgs{IOV: split(b, 3), Addr: s.Peer, RMAIOV: riov(a, k, len(b), 4), Ctx: c}, 0)
	}},
}

// riov cuts the n bytes at addr into parts.
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
			if c.inject && n > inj {
				continue
			}
			what := fmt.Sprintf("%s of %d", c.name, n)
			seed++
			clear(mem)
			local := Pattern(n, seed)
			if c.read {
				copy(mem[off:], local)
				clear(local)
			}
			p.Retry(what, func() error { return c.do(p.A, local, mr.Base()+off, mr.Key(), core.Context(seed)) })
			if c.inject {
				Fill(local, 1)
			} else {
				g := p.Want(p.A, core.Context(seed))
				want := core.CapRMA | core.Write
				if c.read {
					want = core.CapRMA | core.Read
				}
				if g.Flags&(core.CapRMA|core.CapMsg|core.Read|core.Write|core.Send|core.Recv) != want {
					t.Errorf("%s: flags %#x, want %#x", what, uint64(g.Flags), uint64(want))
				}
			}
			if c.read {
				CheckPattern(t, what, local, n, seed)
				continue
			}
			if c.data {
				g := p.WantWhere(p.B, what+": remote CQ data", func(g *Got) bool { return g.Flags&core.RemoteWrite != 0 })
				if g.Err != nil || g.Data != cqData || g.Flags&(core.RemoteCQData|core.CapRMA) != core.RemoteCQData|core.CapRMA {
					t.Errorf("%s: target saw %v; want RMA|RemoteWrite|RemoteCQData and its data", what, g)
				}
			}
			// Writes complete when sent; what a following read sees is ordered behind them (FI_ORDER_RAW).
			settle(p, mr)
			CheckPattern(t, what, mem[off:], n, seed)
			CheckZero(t, what+", before the range", mem[:off])
			CheckZero(t, what+", behind the range", mem[off+n:])
		}
	}
}

// settle waits until all earlier writes of A have reached B's memory.
func settle(p *Pair, mr core.MemoryRegion) {
	p.T.Helper()
	var b [1]byte
	p.Retry("read", func() error { return p.A.EP.Read(b[:], 0, p.A.Peer, mr.Base(), mr.Key(), 0xfeed) })
	p.Want(p.A, 0xfeed)
}

// rmaRegions checks keys: requested ones, duplicates, provider-chosen ones, regions after Close.
func rmaRegions(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	mem := make([]byte, 100)
	reg := func(key uint64) (core.MemoryRegion, error) {
		return p.B.Domain.RegMR(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: key})
	}
	one := must(t, "RegMR", func() (core.MemoryRegion, error) { return reg(4711) })
	if one.Key() != 4711 || one.Base() != 0 {
		t.Errorf("key %d base %#x; want the requested key and 0", one.Key(), one.Base())
	}
	if _, err := reg(4711); !errors.Is(err, core.ErrNoKey) {
		t.Errorf("second region with the same key: %v; want ErrNoKey", err)
	}
	if _, err := p.B.Domain.RegMR(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: 1, Offset: 8}); !oneOf(err, core.ErrInval, core.ErrBadFlags) {
		t.Errorf("region with an offset: %v; want ErrInval", err)
	}
	p.B.ok("Close MR", one.Close())
	again := must(t, "RegMR with a freed key", func() (core.MemoryRegion, error) { return reg(4711) })
	p.B.ok("Close MR", again.Close())

	pk := Open(t, st, WithCaps(core.CapRMA), WithMRMode(core.MRModeProvKey))
	keys := map[uint64]bool{}
	var mrs []core.MemoryRegion
	for range 50 {
		mr := must(t, "RegMR", func() (core.MemoryRegion, error) {
			return pk.B.Domain.RegMR(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: 5})
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

// rmaLimits checks what is refused at the call.
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
		a.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{big}, Addr: a.Peer, RMAIOV: riov(0, 1, len(big), a.Info.Tx.RMAIOVLimit+1), Ctx: 1}, 0), bad...)
	refuse(t, "writemsg with unequal lengths",
		a.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{big}, Addr: a.Peer, RMAIOV: riov(0, 1, len(big)-1, 1), Ctx: 1}, 0), bad...)
	refuse(t, "readmsg with unequal lengths",
		a.EP.ReadMsg(&core.RMAArgs{IOV: [][]byte{big}, Addr: a.Peer, RMAIOV: riov(0, 1, len(big)+1, 2), Ctx: 1}, 0), bad...)
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
		return p.A.EP.WriteMsg(&core.RMAArgs{IOV: split(src, 3), Addr: p.A.Peer, RMAIOV: riov(mr.Base(), mr.Key(), n, 2), Ctx: 1}, core.DeliveryComplete)
	})
	p.Want(p.A, 1)
	CheckPattern(t, "write", mem, n, 1)
	dst := make([]byte, n)
	p.Retry("read", func() error { return p.A.EP.Read(dst, 0, p.A.Peer, mr.Base(), mr.Key(), 2) })
	p.Want(p.A, 2)
	if !bytes.Equal(dst, src) {
		t.Error("read differs from what was written")
	}
	p.B.ok("Close MR", mr.Close())
}

// rmaMany keeps many reads and writes of both directions in flight.
func rmaMany(t *testing.T, st Stack) {
	const n, each = 400, 700
	p := Open(t, st, WithCaps(core.CapRMA))
	var mem, local [2][]byte
	var mr [2]core.MemoryRegion
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
				return s.EP.Write(local[i][k*each:(k+1)*each], 0, s.Peer, r.Base()+at, r.Key(), core.Context(k))
			})
		}
	}
	back := [2][]byte{make([]byte, n*each), make([]byte, n*each)}
	for k := range n {
		for i, s := range sides {
			r := mr[1-i]
			at := uint64(k * each)
			p.Retry("read", func() error {
				return s.EP.Read(back[i][k*each:(k+1)*each], 0, s.Peer, r.Base()+at, r.Key(), core.Context(n+k))
			})
		}
	}
	for k := range 2 * n {
		for _, s := range sides {
			p.Want(s, core.Context(k))
		}
	}
	for i := range sides {
		if !bytes.Equal(mem[1-i], local[i]) || !bytes.Equal(back[i], local[i]) {
			t.Errorf("side %d: memory differs after %d writes and reads", i, n)
		}
	}
	for i, s := range sides {
		s.ok("Close MR", mr[i].Close())
	}
}

// rmaOrder checks a send behind a write (FI_ORDER_SAW), a read behind a write (RAW) and a write behind a write (WAW).
func rmaOrder(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	order := p.A.Info.Tx.MsgOrder
	mem := make([]byte, 100000)
	mr := p.B.Reg(mem, allAccess)
	var note [8]byte
	r := rng(3)
	for i := range 200 {
		n := r.intn(len(mem))
		if i%4 != 0 {
			n = r.intn(300)
		}
		src := Pattern(n, uint64(i))
		tail := Pattern(n/2, uint64(i)+1000)
		wr := func(b []byte, c core.Context) {
			p.Retry("write", func() error { return p.A.EP.Write(b, 0, p.A.Peer, mr.Base(), mr.Key(), c) })
		}
		p.Retry("recv", func() error { return p.B.Rx().Recv(note[:], 0, core.AddrUnspec, 3) })
		wr(src, 1)
		wr(tail, 2)
		if order&core.OrderSAW != 0 {
			p.Retry("inject", func() error { return p.A.EP.Inject(note[:], p.A.Peer) })
			p.Want(p.B, 3)
			CheckPattern(t, "second write, when a later send arrives", mem, n/2, uint64(i)+1000)
			if string(mem[n/2:n]) != string(src[n/2:]) {
				t.Fatal("first write is not there when a later send arrives")
			}
		}
		if order&core.OrderRAW != 0 {
			back := make([]byte, n)
			p.Retry("read", func() error { return p.A.EP.Read(back, 0, p.A.Peer, mr.Base(), mr.Key(), 4) })
			p.Want(p.A, 4)
			CheckPattern(t, "read behind two writes", back, n/2, uint64(i)+1000)
		}
		if order&core.OrderSAW == 0 {
			p.Retry("inject", func() error { return p.A.EP.Inject(note[:], p.A.Peer) })
			p.Want(p.B, 3)
		}
		p.Want(p.A, 1)
		p.Want(p.A, 2)
	}
	p.B.ok("Close MR", mr.Close())
}

// rmaData checks that writes with remote CQ data consume no receive and that plain ones are silent at the target.
func rmaData(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	mem := make([]byte, 64)
	mr := p.B.Reg(mem, allAccess)
	buf := make([]byte, 16)
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 9) })
	for i := range 20 {
		p.Retry("write", func() error { return p.A.EP.Write(mem[:0:0], 0, p.A.Peer, mr.Base(), mr.Key(), 1) })
		p.Want(p.A, 1)
		p.Retry("writedata", func() error { return p.A.EP.WriteData(Pattern(8, uint64(i)), 0, uint64(i), p.A.Peer, mr.Base(), mr.Key(), 2) })
		p.Want(p.A, 2)
		g := p.WantWhere(p.B, "remote CQ data", func(*Got) bool { return true })
		if g.Err != nil || g.Data != uint64(i) || g.Flags&core.RemoteWrite == 0 || g.Flags&core.Recv != 0 {
			t.Fatalf("target saw %v; want RemoteWrite with data %d", g, i)
		}
		if g.Len != 8 {
			t.Errorf("remote write completion: len %d, want 8", g.Len)
		}
	}
	p.WantNone(p.B)
	p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(16, 5), p.A.Peer) })
	p.Want(p.B, 9)
	CheckPattern(t, "receive", buf, 16, 5)
	p.B.ok("Close MR", mr.Close())
}

// rmaEvents checks target counters (FI_RMA_EVENT): of the endpoint and of the region.
func rmaEvents(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA|core.CapRMAEvent) {
		return
	}
	var rd, wr core.Counter
	p := Open(t, st, WithCaps(core.CapRMA|core.CapRMAEvent), WithBefore(func(s *Side) {
		if s.Name != "B" {
			return
		}
		open := func() core.Counter {
			return must(t, "OpenCounter", func() (core.Counter, error) {
				return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec})
			})
		}
		rd, wr = open(), open()
		s.ok("BindCounter RemoteRead", s.EP.BindCounter(rd, core.RemoteRead))
		s.ok("BindCounter RemoteWrite", s.EP.BindCounter(wr, core.RemoteWrite))
	}))
	mem := make([]byte, 5000)
	mrc := must(t, "OpenCounter", func() (core.Counter, error) { return p.B.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
	mr := must(t, "RegMR", func() (core.MemoryRegion, error) {
		return p.B.Domain.RegMR(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: 9, Flags: core.CapRMAEvent})
	})
	p.B.ok("BindCounter of the region", mr.BindCounter(mrc, core.RemoteWrite))
	const n = 25
	buf := make([]byte, 5000)
	for i := range n {
		p.Retry("write", func() error { return p.A.EP.Write(buf[:i*100], 0, p.A.Peer, mr.Base(), mr.Key(), core.Context(i)) })
		p.Want(p.A, core.Context(i))
	}
	for i := range 2 * n {
		p.Retry("read", func() error { return p.A.EP.Read(buf[:i*10], 0, p.A.Peer, mr.Base(), mr.Key(), core.Context(i)) })
		p.Want(p.A, core.Context(i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	for _, c := range []struct {
		name string
		c    core.Counter
		want uint64
	}{{"RemoteWrite", wr, n}, {"RemoteRead", rd, 2 * n}, {"region", mrc, n}} {
		if err := c.c.Wait(ctx, c.want); err != nil {
			t.Errorf("%s counter: %v at %d, want %d", c.name, err, c.c.Value(), c.want)
		}
	}
	time.Sleep(time.Millisecond)
	if wr.Value() != n || rd.Value() != 2*n || mrc.Value() != n {
		t.Errorf("counters %d, %d, %d; want %d, %d, %d", wr.Value(), rd.Value(), mrc.Value(), n, 2*n, n)
	}
	p.B.ok("Close MR", mr.Close())
	p.B.ok("Close counter", mrc.Close())
	refuse(t, "Close of a bound counter", wr.Close(), core.ErrBusy)
	p.B.closeEP()
	p.B.ok("Close counter", rd.Close())
	p.B.ok("Close counter", wr.Close())
}
