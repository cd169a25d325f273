package conform

// Message order (fi_endpoint(3), "msg_order"). The tests request every order that a stack offers, and check it where
// it has a visible effect. The order of a read after a send (FI_ORDER_RAS) has none.

import (
	"bytes"
	"encoding/binary"
	"testing"

	"gofabric/core"
)

func testOrder(t *testing.T, st Stack) {
	t.Run("hints", func(t *testing.T) { orderHints(t, st) })
	if !st.need(t, core.CapRMA) {
		return
	}
	t.Run("behindreads", func(t *testing.T) { orderBehindReads(t, st) })
	t.Run("behindwrites", func(t *testing.T) { orderBehindWrites(t, st) })
	t.Run("behindsends", func(t *testing.T) { orderBehindSends(t, st) })
	if st.need(t, core.CapAtomic) {
		t.Run("atomics", func(t *testing.T) { orderAtomics(t, st) })
	}
}

// readOrders are orders that stacks grant only on request, because they have a cost.
const readOrders = core.OrderWAR | core.OrderRMAWAR | core.OrderSAR

// offersOrder reports whether the stack grants an order on request.
func (s Stack) offersOrder(o core.Order) bool {
	h := s.hints(core.CapMsg | core.CapRMA)
	h.Tx.MsgOrder = o
	info, err := s.info("", h)
	return err == nil && info.Tx.MsgOrder&o == o
}

// withOrder requests an order.
func withOrder(o core.Order) Option {
	return WithHints(func(h *core.Info) { h.Tx.MsgOrder |= o; h.Rx.MsgOrder |= o })
}

// orderHints checks GetInfo's results for msg_order, comp_order and max_order sizes.
func orderHints(t *testing.T, st Stack) {
	info := must(t, "GetInfo", func() (*core.Info, error) { return st.info("", st.hints(core.CapMsg|core.CapRMA)) })
	if info.Tx.MsgOrder&readOrders != 0 || info.Rx.MsgOrder&readOrders != 0 || info.EP.MaxOrderWARSize != 0 {
		t.Errorf("orders behind reads without a request: %v, %v, up to %d bytes", info.Tx.MsgOrder,
			info.Rx.MsgOrder, info.EP.MaxOrderWARSize)
	}
	for bit := core.Order(1); bit != 0; bit <<= 1 {
		h := st.hints(core.CapMsg | core.CapRMA)
		h.Tx.MsgOrder = bit
		got, err := st.info("", h)
		switch {
		case err != nil && info.Tx.MsgOrder&bit != 0:
			t.Errorf("%v is offered, but refused: %v", bit, err)
		case err != nil:
			refuse(t, bit.String(), err, core.ErrNoData)
		case got.Tx.MsgOrder&bit == 0:
			t.Errorf("%v was requested, but not granted", bit)
		case bit&(core.OrderWAR|core.OrderRMAWAR) != 0 && got.EP.MaxOrderWARSize == 0:
			t.Errorf("%v up to a size of 0", bit)
		}
	}
	h := st.hints(core.CapMsg | core.CapRMA)
	h.EP.MaxOrderWARSize = 100
	if got, err := st.info("", h); err != nil {
		refuse(t, "max_order_war_size", err, core.ErrNoData)
	} else if got.Tx.MsgOrder&core.OrderRMAWAR == 0 || got.EP.MaxOrderWARSize != 100 {
		t.Errorf("max_order_war_size of 100 gives %v, %d", got.Tx.MsgOrder, got.EP.MaxOrderWARSize)
	}
	// The values are FI_ORDER_STRICT and FI_ORDER_DATA (fi_endpoint(3)). 0 is FI_ORDER_NONE. Native's reliable stacks
	// have no order of completions either.
	for _, o := range []core.Order{1, 1 << 63, 1<<63 | 1} {
		h := st.hints(core.CapMsg)
		h.Tx.CompOrder = o
		_, err := st.info("", h)
		refuse(t, "comp_order of transmits", err, core.ErrNoData)
		h = st.hints(core.CapMsg)
		h.Rx.CompOrder = o
		_, err = st.info("", h)
		refuse(t, "comp_order of receives", err, core.ErrNoData)
	}
}

// orderBehindReads reads remote memory and then overwrites it with a write (WAR). In another part its owner overwrites
// it when it receives a send (SAR).
func orderBehindReads(t *testing.T, st Stack) {
	for _, o := range []core.Order{core.OrderWAR, core.OrderRMAWAR, core.OrderSAR} {
		if !st.offersOrder(o) {
			t.Errorf("%s does not offer %v", st.Name, o)
			continue
		}
		t.Run(o.String(), func(t *testing.T) {
			p := Open(t, st, WithCaps(core.CapRMA), withOrder(o))
			const size, reads = 400_000, 4
			mem := Pattern(size, 1)
			mr := p.B.Reg(mem, allAccess)
			defer func() { p.B.ok("Close MR", mr.Close()) }()
			note := make([]byte, 8)
			for round := range uint64(4) {
				next := Pattern(size, round+2)
				p.Retry("recv", func() error { return p.B.Rx().Recv(note, 0, core.AddrUnspec, 30) })
				var got [reads][]byte
				for i := range got {
					got[i] = make([]byte, size)
					p.Retry("read", func() error { return p.A.EP.Read(got[i], 0, p.A.Peer, mr.Base(), mr.Key(), core.OpContext(10+i)) })
				}
				if o != core.OrderSAR {
					p.Retry("writedata", func() error {
						return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{next}, Addr: p.A.Peer, Ctx: 20,
							RMAIOV: riov(mr.Base(), mr.Key(), size, 1)}, core.OpDeliveryComplete|core.OpCompletion)
					})
				}
				p.Retry("send", func() error { return p.A.EP.Send(Pattern(8, round), 0, p.A.Peer, 21) })
				p.Want(p.B, 30)
				if o == core.OrderSAR {
					copy(mem, next)
				}
				for i := range got {
					p.Want(p.A, core.OpContext(10+i))
					CheckPattern(t, "read before the memory was overwritten", got[i], size, round+1)
				}
				if o != core.OrderSAR {
					p.Want(p.A, 20)
				}
				p.Want(p.A, 21)
			}
		})
	}
}

// orderBehindWrites writes memory twice and reads it (WAW, RAW), with operations of many sizes that do not wait for
// each other. rmaOrder tests sends (SAW).
func orderBehindWrites(t *testing.T, st Stack) {
	const order = core.OrderWAW | core.OrderRMAWAW | core.OrderRAW | core.OrderRMARAW
	if !st.offersOrder(order) {
		t.Fatalf("%s does not offer %v", st.Name, order)
	}
	p := Open(t, st, WithCaps(core.CapRMA), withOrder(order))
	mem := make([]byte, 100_000)
	mr := p.B.Reg(mem, allAccess)
	r := rng(5)
	for round := range uint64(60) {
		n := 1 + r.intn([]int{200, 5000, len(mem)}[r.intn(3)])
		back := make([]byte, n)
		p.Retry("write", func() error {
			return p.A.EP.Write(Pattern(n, 1000+round), 0, p.A.Peer, mr.Base(), mr.Key(), 1)
		})
		p.Retry("write", func() error {
			return p.A.EP.Write(Pattern(n/2, round), 0, p.A.Peer, mr.Base(), mr.Key(), 2)
		})
		p.Retry("read", func() error { return p.A.EP.Read(back, 0, p.A.Peer, mr.Base(), mr.Key(), 3) })
		p.Want(p.A, 3)
		CheckPattern(t, "read behind two writes", back, n/2, round)
		if !bytes.Equal(back[n/2:], Pattern(n, 1000+round)[n/2:]) {
			t.Fatal("the first write is missing")
		}
		p.Want(p.A, 1)
		p.Want(p.A, 2)
	}
	p.B.ok("Close MR", mr.Close())
}

// orderBehindSends checks that messages of many sizes, and writes with data, arrive in the order of posting (SAS,
// WAS).
func orderBehindSends(t *testing.T, st Stack) {
	const order = core.OrderSAS | core.OrderWAS
	if !st.offersOrder(order) {
		t.Fatalf("%s does not offer %v", st.Name, order)
	}
	if st.Foreign {
		return // native reads long messages and completes them when the data are there
	}
	p := Open(t, st, WithCaps(core.CapRMA), withOrder(order))
	mem := make([]byte, 1000)
	mr := p.B.Reg(mem, allAccess)
	r := rng(6)
	const n = 60
	var bufs [n][]byte
	for i := range bufs {
		bufs[i] = make([]byte, 20_000)
		p.Retry("recv", func() error { return p.B.Rx().Recv(bufs[i], 0, core.AddrUnspec, core.OpContext(i)) })
	}
	for i := range bufs {
		size := r.intn([]int{100, 20_000}[r.intn(2)])
		bufs[i] = bufs[i][:size]
		p.Retry("send", func() error { return p.A.EP.Send(Pattern(size, uint64(i)), 0, p.A.Peer, 1) })
		p.Retry("writedata", func() error {
			return p.A.EP.WriteData(still[:r.intn(8)+1], 0, uint64(i), p.A.Peer, mr.Base(), mr.Key(), 2)
		})
	}
	for i := range uint64(n) {
		g := p.WantWhere(p.B, "what was sent first", func(*Got) bool { return true })
		if g.Err != nil || g.Flags&core.CompRecv == 0 || g.Ctx != core.OpContext(i) {
			t.Fatalf("%v where message %d was next", g, i)
		}
		CheckPattern(t, "message", bufs[i], len(bufs[i]), i)
		g = p.WantWhere(p.B, "the write behind it", func(*Got) bool { return true })
		if g.Err != nil || g.Flags&core.CompRemoteWrite == 0 || g.Data != i {
			t.Fatalf("%v where write %d was next", g, i)
		}
		p.Want(p.A, 1)
		p.Want(p.A, 2)
	}
	p.B.ok("Close MR", mr.Close())
}

// orderAtomics changes and fetches a number in turns, with operations that do not wait for each other
// (FI_ORDER_ATOMIC_*). Each sees the results of all before it, and of none behind it.
func orderAtomics(t *testing.T, st Stack) {
	const order = core.OrderAtomicRAR | core.OrderAtomicRAW | core.OrderAtomicWAR | core.OrderAtomicWAW
	for _, o := range []core.Order{order, order | readOrders} {
		if !st.offersOrder(o) {
			t.Fatalf("%s does not offer %v", st.Name, o)
		}
		p := Open(t, st, WithCaps(core.CapRMA|core.CapAtomic), withOrder(o))
		mem := make([]byte, 8)
		mr := p.B.Reg(mem, allAccess)
		const n = 40
		var got [n][2][8]byte
		for i := range got {
			m := func(op core.AtomicOp, v uint64, ctx core.OpContext) *core.AtomicArgs {
				return &core.AtomicArgs{IOV: [][]byte{binary.NativeEndian.AppendUint64(nil, v)}, Addr: p.A.Peer,
					RMAIOC: []core.RMAIoc{{Addr: mr.Base(), Count: 1, Key: mr.Key()}},
					Type:   core.Uint64, Op: op, Ctx: ctx}
			}
			p.Retry("write", func() error { return p.A.EP.Atomic(m(core.AtomicWrite, 77, 1), 0) })
			p.Retry("write", func() error { return p.A.EP.Atomic(m(core.AtomicWrite, uint64(100*i), 2), 0) })
			p.Retry("fetch", func() error { return p.A.EP.FetchAtomic(m(core.AtomicSum, 1, 3), [][]byte{got[i][0][:]}, nil, 0) })
			p.Retry("fetch", func() error { return p.A.EP.FetchAtomic(m(core.AtomicRead, 0, 4), [][]byte{got[i][1][:]}, nil, 0) })
		}
		for i := range got {
			for ctx := range core.OpContext(4) {
				p.Want(p.A, ctx+1)
			}
			for k := range 2 {
				if v := binary.NativeEndian.Uint64(got[i][k][:]); v != uint64(100*i+k) {
					t.Fatalf("with %v: fetch %d of round %d returned %d", o, k, i, v)
				}
			}
		}
		p.B.ok("Close MR", mr.Close())
		p.Close()
	}
}
