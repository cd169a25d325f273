package conform

// The core of the suite between two processes: messages, tagged messages, remote memory access, atomics and remote CQ
// data, in both directions.

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"gofabric/core"
)

// RunProcesses runs the core of the suite between this process and a child. The child runs the same test, given by its
// name, and IsFar is true there.
func RunProcesses(t *testing.T, st Stack, test string, m Model) {
	NoLeaks(t)
	c := startFar(t, test, st.Name)
	defer c.close()
	caps := farCaps(t, st)
	s := openSide(t, st, "near", makeConfig([]Option{WithCaps(caps), m.ask()}), nil)
	p := &Pair{T: t, Stack: st, A: s, B: s}
	defer func() {
		s.CloseEP()
		s.Close()
	}()
	to := core.IPAddr(netip.MustParseAddrPort(c.answer(nil).Addr))
	if s.openEP(s.Info); st.EPType == core.EPTypeMsg {
		c.tell(order{Op: "accept"})
		s.ok("Connect", s.EP.Connect(to, nil))
		s.WantEvent(core.EventConnected)
		c.answer(p)
	} else {
		name := must(t, "Name", s.EP.Name)
		s.Peer = s.Insert(to)
		c.do(p, order{Op: "insert", Addr: name.IP.String()})
	}
	tagged := []bool{false}
	if caps&core.CapTagged != 0 {
		tagged = append(tagged, true)
	}
	for i, n := range []int{0, 1, 100, 4096, 70_000, 1<<20 + 3} {
		for _, tag := range tagged {
			for _, data := range []bool{false, true} {
				o := order{Msg: Pattern(n, uint64(i)), N: n + 1, Tagged: tag, Tag: uint64(40 + i),
					CQData: data, Ctx: core.OpContext(i)}
				there(p, c, o)
				back(p, c, o)
			}
		}
	}
	r := c.do(p, order{Op: "reg", N: 1 << 18})
	farRMA(p, c, r)
	if caps&core.CapAtomic != 0 {
		farAtomics(p, c, r)
	}
}

// verify checks a message that has arrived.
func (o order) verify(t testing.TB, what string, buf []byte, flags core.CompFlags, data, tag uint64) {
	t.Helper()
	what = fmt.Sprintf("%s of %d bytes, tagged %v, data %v", what, len(o.Msg), o.Tagged, o.CQData)
	if len(buf) != len(o.Msg) || string(buf) != string(o.Msg) {
		t.Fatalf("%s: %d bytes arrived, or the wrong message", what, len(buf))
	}
	if o.CQData != (flags&core.CompRemoteCQData != 0) || o.CQData && data != cqData || o.Tagged && tag != o.Tag {
		t.Fatalf("%s: flags %#x, data %#x, tag %d", what, uint64(flags), data, tag)
	}
}

// there sends to the child.
func there(p *Pair, c *child, o order) {
	p.T.Helper()
	o.Op = "recv"
	c.do(p, order{Op: "recv", N: o.N, Tagged: o.Tagged, Tag: o.Tag, Ctx: 1000 + o.Ctx})
	p.Retry("send", func() error { return sendTo(p.A, o) })
	a := c.do(p, order{Op: "want", Ctx: 1000 + o.Ctx})
	o.verify(p.T, "message to the child", a.Buf, a.Flags, a.Data, a.Tag)
	p.Want(p.A, o.Ctx)
}

// back has the child send a message.
func back(p *Pair, c *child, o order) {
	p.T.Helper()
	buf := make([]byte, o.N)
	p.Retry("recv", func() error {
		if o.Tagged {
			return p.A.Rx().TRecv(buf, 0, core.AddrUnspec, o.Tag, 0, 2000+o.Ctx)
		}
		return p.A.Rx().Recv(buf, 0, core.AddrUnspec, 2000+o.Ctx)
	})
	o.Op = "send"
	c.do(p, o)
	g := p.Want(p.A, 2000+o.Ctx)
	o.verify(p.T, "message from the child", buf[:g.Len], g.Flags, g.Data, g.Tag)
	c.do(p, order{Op: "want", Ctx: o.Ctx})
}

// farRMA writes to the child's memory, also with remote CQ data, and reads it.
func farRMA(p *Pair, c *child, r answer) {
	p.T.Helper()
	for i, n := range []int{1, 500, 8192, 200_000} {
		seed := uint64(60 + i)
		p.Retry("writedata", func() error { return p.A.EP.WriteData(Pattern(n, seed), 0, cqData, p.A.Peer, r.Base+7, r.Key, 3) })
		p.Want(p.A, 3)
		if a := c.do(p, order{Op: "data"}); a.Data != cqData {
			p.T.Fatalf("remote CQ data %#x", a.Data)
		}
		CheckPattern(p.T, "memory of the child", c.do(p, order{Op: "mem"}).Buf[7:], n, seed)
		c.do(p, order{Op: "mem", Msg: Pattern(n, seed+10)})
		got := make([]byte, n)
		p.Retry("read", func() error { return p.A.EP.Read(got, 0, p.A.Peer, r.Base, r.Key, 4) })
		p.Want(p.A, 4)
		CheckPattern(p.T, "what was read", got, n, seed+10)
	}
}

// farAtomics adds to a number in the child's memory.
func farAtomics(p *Pair, c *child, r answer) {
	p.T.Helper()
	c.do(p, order{Op: "mem", Msg: make([]byte, 16)})
	one, result := binary.NativeEndian.AppendUint64(nil, 1), make([]byte, 8)
	m := &core.AtomicArgs{IOV: [][]byte{one}, Addr: p.A.Peer,
		RMAIOC: []core.RMAIoc{{Addr: r.Base, Count: 1, Key: r.Key}}, Type: core.Uint64, Op: core.AtomicSum, Ctx: 5}
	for i := range uint64(50) {
		p.Retry("fetch", func() error { return p.A.EP.FetchAtomic(m, [][]byte{result}, nil, 0) })
		p.Want(p.A, 5)
		if v := binary.NativeEndian.Uint64(result); v != i {
			p.T.Fatalf("fetched %d, want %d", v, i)
		}
	}
	m.Op, m.IOV = core.AtomicCSwap, [][]byte{binary.NativeEndian.AppendUint64(nil, 99)}
	old := binary.NativeEndian.AppendUint64(nil, 50)
	p.Retry("compare", func() error { return p.A.EP.CompareAtomic(m, [][]byte{old}, nil, [][]byte{result}, nil, 0) })
	p.Want(p.A, 5)
	if b := c.do(p, order{Op: "mem"}).Buf; binary.NativeEndian.Uint64(b) != 99 {
		p.T.Fatalf("the child's memory is %d, want 99", binary.NativeEndian.Uint64(b))
	}
}
