package conform

// Receives that depend on the sender, or take several tagged messages (fi_getinfo(3): FI_TAGGED_DIRECTED_RECV,
// FI_EXACT_DIRECTED_RECV, FI_TAGGED_MULTI_RECV, FI_SOURCE_ERR).

import (
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

func testReceives(t *testing.T, st Stack) {
	t.Run("directed", func(t *testing.T) { directedKinds(t, st) })
	t.Run("multi", func(t *testing.T) { taggedMulti(t, st) })
	t.Run("unknown", func(t *testing.T) { unknownSources(t, st) })
	t.Run("scalunknown", func(t *testing.T) { scalUnknownSources(t, st) })
}

// directedKinds checks for which receives the source counts, and for which it must be exact, for each way to request
// that.
func directedKinds(t *testing.T, st Stack) {
	const msg, tag, exact = core.CapDirectedRecv, core.CapTaggedDirectedRecv, core.CapExactDirectedRecv
	if st.EPType == core.EPTypeMsg { // an endpoint with one peer need not name it
		return
	}
	for _, c := range []struct {
		caps                             core.Caps
		msgs, tags, exactMsgs, exactTags bool
	}{
		{0, false, false, false, false},
		{msg, true, true, false, false},
		{tag, false, true, false, false},
		{exact, true, true, true, true},
		{msg | exact, true, true, true, true},
		{tag | exact, false, true, false, true},
		{msg | tag, true, true, false, false},
	} {
		if !st.need(t, core.CapTagged|c.caps) {
			continue
		}
		p := Open(t, st, WithCaps(core.CapTagged|c.caps))
		b := p.B
		other := b.Insert(b.Addr) // B itself, which does not send
		buf := make([]byte, 16)
		if err := b.EP.Recv(buf, 0, core.AddrUnspec, 1); oneOf(err, core.ErrInval) != c.exactMsgs {
			t.Errorf("caps %#x: recv from any source: %v", uint64(c.caps), err)
		}
		if err := b.EP.TRecv(buf, 0, core.AddrUnspec, 5, 0, 2); oneOf(err, core.ErrInval) != c.exactTags {
			t.Errorf("caps %#x: trecv from any source: %v", uint64(c.caps), err)
		}
		if !c.exactMsgs {
			b.ok("Cancel", b.EP.Cancel(1))
			p.WantErr(b, 1, core.ErrCanceled)
		}
		if !c.exactTags {
			b.ok("Cancel", b.EP.Cancel(2))
			p.WantErr(b, 2, core.ErrCanceled)
		}
		// The receive from the other source is older. It gets the message unless the source counts.
		for i, from := range []core.FIAddr{other, b.Peer} {
			b.ok("recv", b.EP.Recv(buf, 0, from, core.OpContext(10+i)))
			b.ok("trecvmsg", b.EP.TRecvMsg(&core.TaggedArgs{IOV: [][]byte{buf}, Addr: from, Tag: 5, Ctx: core.OpContext(20 + i)}, core.OpCompletion))
		}
		p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
		p.Retry("tinject", func() error { return p.A.EP.TInject(still[:8], p.A.Peer, 5) })
		want := map[bool]core.OpContext{true: 1}
		p.Want(b, 10+want[c.msgs])
		p.Want(b, 20+want[c.tags])
		// The same holds for a peek.
		p.Retry("tinject", func() error { return p.A.EP.TInject(still[:8], p.A.Peer, 6) })
		for _, from := range []core.FIAddr{b.Peer, other} {
			p.until("peek", func() bool {
				p.Retry("peek", func() error {
					return b.EP.TRecvMsg(&core.TaggedArgs{Addr: from, Tag: 6, Ctx: 30}, core.OpPeek)
				})
				g := p.WantEnd(b, 30, Deadline)
				return (g.Err == nil) == (from == b.Peer || !c.tags)
			})
		}
		p.Forget()
		p.Close()
	}
}

// taggedMulti has a buffer take tagged messages with some tags, next to receives for other tags, until it is full and
// released.
func taggedMulti(t *testing.T, st Stack) {
	if !st.need(t, core.CapTagged|core.CapTaggedMultiRecv) {
		return
	}
	for _, late := range []bool{false, true} {
		p := Open(t, st, WithCaps(core.CapTagged|core.CapTaggedMultiRecv|core.CapMultiRecv))
		p.B.ok("SetOpt(OptMinMultiRecv)", setMinMultiRecv(p.B, 64))
		buf, one := make([]byte, 1000), make([]byte, 400)
		post := func() {
			p.Retry("trecv", func() error { return p.B.Rx().TRecv(one, 0, core.AddrUnspec, 7, 0, 1) })
			p.Retry("trecvmsg", func() error {
				return p.B.Rx().TRecvMsg(&core.TaggedArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Tag: 0,
					Ignore: 0xf, Ctx: 2}, core.OpMultiRecv|core.OpCompletion)
			})
		}
		send := func() {
			for i, tag := range []uint64{3, 7, 7, 8} { // the second message goes to the other receive
				p.Retry("tsend", func() error { return p.A.EP.TSend(Pattern(300, uint64(i)), 0, p.A.Peer, tag, core.OpContext(10+i)) })
				p.Want(p.A, core.OpContext(10+i))
			}
			p.Progress()
		}
		if late {
			send()
			p.Ping(1)
			post()
		} else {
			post()
			send()
		}
		p.Want(p.B, 1)
		CheckPattern(t, "the other receive", one, 300, 1)
		for i, m := range []struct{ tag, seed uint64 }{{3, 0}, {7, 2}, {8, 3}} {
			g := p.Want(p.B, 2)
			if g.Tag != m.tag || g.Len != 300 || &g.Buf[0] != &buf[300*i] || g.Flags&core.CompTagged == 0 ||
				g.Flags&core.CompMultiRecv != 0 {
				t.Errorf("message %d in the buffer: %v", i, g)
			}
			CheckPattern(t, "in the buffer", buf[300*i:], 300, m.seed)
		}
		p.Retry("tinject", func() error { return p.A.EP.TInject(Pattern(50, 9), p.A.Peer, 1) })
		if g := p.Want(p.B, 2); g.Len != 50 || g.Flags&core.CompMultiRecv == 0 {
			t.Errorf("the last message: %v; want the buffer released", g)
		}
		exchange(p, p.A, p.B, taggedSends[0], taggedRecvs[0], 10, 5)
		p.Close()
	}
}

// unknownSources checks that a message from a sender outside of the vector is received, and reported with the sender's
// address until the sender is inserted.
func unknownSources(t *testing.T, st Stack) {
	if st.EPType == core.EPTypeMsg || !st.need(t, core.CapTagged|core.CapSource|core.CapSourceErr) {
		return
	}
	p := Open(t, st, WithCaps(core.CapTagged|core.CapRMA|core.CapRMAEvent|core.CapSource|core.CapSourceErr),
		WithoutPeer())
	b := p.B
	buf := make([]byte, 5000)
	name := func(what string, ctx core.OpContext, n int) core.Addr {
		t.Helper()
		g := p.WantErr(b, ctx, core.ErrAddrNotAvail)
		if g.Len != n || g.Err.Peer.IP != p.A.Addr.IP || g.Src != core.AddrNotAvail {
			t.Errorf("%s: %v; want %d bytes from %v", what, g, n, p.A.Addr.IP)
		}
		return g.Err.Peer
	}
	for i, n := range []int{0, 8, 5000} {
		late := i == 1
		post := func() {
			p.Retry("trecv", func() error { return b.Rx().TRecv(buf, 0, core.AddrUnspec, 4, 0, 1) })
		}
		if !late {
			post()
		}
		p.Retry("tsend", func() error { return p.A.EP.TSend(Pattern(n, 1), 0, p.A.Peer, 4, 2) })
		p.Want(p.A, 2)
		if late {
			p.until("peek", func() bool { // a peek is not a receive
				p.Retry("peek", func() error {
					return b.EP.TRecvMsg(&core.TaggedArgs{Addr: core.AddrUnspec, Tag: 4, Ctx: 3}, core.OpPeek)
				})
				return p.WantEnd(b, 3, Deadline).Err == nil
			})
			post()
		}
		name("trecv", 1, n)
		CheckPattern(t, "message", buf, n, 1)
	}
	mr := b.Reg(make([]byte, 64), allAccess)
	p.forData()
	p.Retry("writedata", func() error { return p.A.EP.WriteData(still[:8], 0, p.A.data(), p.A.Peer, mr.Base(), mr.Key(), 5) })
	p.Want(p.A, 5)
	who := name("writedata", 0, 8)
	fi := b.Insert(who)
	p.Retry("recv", func() error { return b.Rx().Recv(buf, 0, core.AddrUnspec, 6) })
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
	if g := p.Want(b, 6); g.Src != fi {
		t.Errorf("from a peer that was inserted: %v; want source %d", g, fi)
	}
	b.ok("Close MR", mr.Close())
}

// scalUnknownSources is unknownSources for the contexts of a scalable endpoint.
func scalUnknownSources(t *testing.T, st Stack) {
	const caps = scalCaps | core.CapRMAEvent | core.CapSource | core.CapSourceErr
	if st.EPType == core.EPTypeMsg || st.Foreign || !st.need(t, caps) {
		return
	}
	a, b := openScals(t, st, 3, caps)
	b.ok("Remove", b.av.Remove([]core.FIAddr{b.peer}, 0))
	var e core.CQEntry
	wait := func(q *core.CompletionQueue, what string) (err error) {
		end := time.Now().Add(Deadline)
		for n := 0; ; n++ {
			entries := []core.CQEntry{{}}
			if _, err = q.Read(entries); !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
				e = entries[0]
				e.Buf = nil // too long to print
				return err
			}
			for _, s := range []*scal{a, b} {
				for _, other := range s.txCQ {
					if other != q {
						_, _ = other.Read(make([]core.CQEntry, 4))
					}
				}
			}
			relax(n)
		}
	}
	buf := make([]byte, 5000)
	for i := range 3 {
		for _, n := range []int{8, 5000} {
			b.ok("Recv", b.rx[i].Recv(buf, 0, core.AddrUnspec, 7))
			a.post("Send", func() error { return a.tx[i].Send(Pattern(n, 3), 0, a.at(i), 1) })
			var ee core.CQErrEntry
			if err := wait(b.rxCQ[i], "unknown source"); !errors.Is(err, core.ErrAvail) {
				t.Fatalf("context %d: %v, %+v; want an error entry", i, err, e)
			}
			b.ok("ReadErr", b.rxCQ[i].ReadErr(&ee))
			if ee.Err != core.ErrAddrNotAvail || ee.Ctx != 7 || ee.Len != n || ee.Peer.IP != a.addr.IP {
				t.Fatalf("context %d: %+v; want %d bytes from %v", i, ee, n, a.addr.IP)
			}
			CheckPattern(t, "message", buf, n, 3)
		}
	}
	fi := make([]core.FIAddr, 1)
	if n, err := b.av.Insert([]core.Addr{a.addr}, fi, 0); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	b.ok("Recv", b.rx[2].Recv(buf, 0, core.AddrUnspec, 8))
	a.post("Send", func() error { return a.tx[2].Send(still[:8], 0, a.at(2), 1) })
	if err := wait(b.rxCQ[2], "friend"); err != nil || e.Ctx != 8 {
		t.Fatalf("from a peer that was inserted: %v, %+v", err, e)
	}
}
