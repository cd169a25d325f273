package conform

// Peek, claim and discard (fi_tagged(3), FI_PEEK).

import (
	"testing"

	"gofabric/core"
)

func testPeek(t *testing.T, st Stack) {
	if !st.need(t, core.CapTagged) {
		return
	}
	t.Run("miss", func(t *testing.T) { peekMiss(t, st) })
	t.Run("hit", func(t *testing.T) { peekHit(t, st) })
	t.Run("claim", func(t *testing.T) { peekClaim(t, st) })
	t.Run("discard", func(t *testing.T) { peekDiscard(t, st) })
}

func peek(s *Side, tag, ign uint64, ctx core.OpContext, flags core.OpFlags) error {
	return s.Rx().TRecvMsg(&core.TaggedArgs{Addr: core.AddrUnspec, Tag: tag, Ignore: ign, Ctx: ctx}, core.OpPeek|flags)
}

// arrive sends messages with the given tags to B, and returns when all of them are unexpected messages there. Message
// i has 100+i bytes of Pattern i, or is large for a big size.
func arrive(p *Pair, size int, tags ...uint64) {
	p.T.Helper()
	const marker = 0xff << 40
	p.Retry("trecv", func() error { return p.B.Rx().TRecv(nil, 0, core.AddrUnspec, marker, 0, 0x5151) })
	for i, tag := range tags {
		src := Pattern(size+i, uint64(i))
		p.Retry("tsenddata", func() error { return p.A.EP.TSendData(src, 0, p.A.data()+uint64(i), p.A.Peer, tag, 0x6161) })
	}
	p.Retry("tinject", func() error { return p.A.EP.TInject(nil, p.A.Peer, marker) })
	p.Want(p.B, 0x5151)
}

func (p *Pair) wantSends(n int) {
	p.T.Helper()
	for range n {
		p.Want(p.A, 0x6161)
	}
}

func peekMiss(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTagged))
	for i, flags := range []core.OpFlags{0, core.OpClaim, core.OpDiscard} {
		p.Retry("peek", func() error { return peek(p.B, 5, 0, core.OpContext(i), flags) })
		g := p.WantErr(p.B, core.OpContext(i), core.ErrNoMsg)
		if g.Flags&(core.CompRecv|core.CompTagged) != core.CompRecv|core.CompTagged {
			t.Errorf("flags %#x of a peek's miss, want Recv|Tagged", uint64(g.Flags))
		}
	}
	exchange(p, p.A, p.B, taggedSends[0], taggedRecvs[0], 10, 1)
}

func peekHit(t *testing.T, st Stack) {
	for _, size := range []int{100, 200000} {
		p := Open(t, st, WithCaps(core.CapTagged))
		size = min(size, st.maxSize())
		arrive(p, size, 5, 6)
		for round := range 2 { // a plain peek takes no message
			p.Retry("peek", func() error { return peek(p.B, 6, 0, core.OpContext(10+round), 0) })
			g := p.Want(p.B, core.OpContext(10+round))
			if g.Len != size+1 || g.Tag != 6 || g.Data != p.A.data()+1 || g.Flags&(core.CompRecv|core.CompTagged|core.CompRemoteCQData) != core.CompRecv|core.CompTagged|core.CompRemoteCQData {
				t.Errorf("peek returned %v; want %d bytes, tag 6, its data", g, size+1)
			}
		}
		p.Retry("peek", func() error { return peek(p.B, 4, 3, 20, 0) }) // wildcard: the earliest message
		if g := p.Want(p.B, 20); g.Tag != 5 {
			t.Errorf("wildcard peek returned %v; want the earliest, tag 5", g)
		}
		p.Retry("peek", func() error { return peek(p.B, 9, 0, 21, 0) })
		p.WantErr(p.B, 21, core.ErrNoMsg)
		for i := range 2 {
			buf := make([]byte, size+i)
			p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, uint64(5+i), 0, core.OpContext(i)) })
			p.Want(p.B, core.OpContext(i))
			CheckPattern(t, "message after peek", buf, size+i, uint64(i))
		}
		p.wantSends(2)
		p.Close()
	}
}

func peekClaim(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTagged))
	arrive(p, 3000, 5, 5, 5)
	p.Retry("peek+claim", func() error { return peek(p.B, 5, 0, 70, core.OpClaim) })
	if g := p.Want(p.B, 70); g.Len != 3000 {
		t.Errorf("claim returned %v; want the first message, 3000 bytes", g)
	}
	// Ordinary receives do not match the claimed message.
	buf := make([]byte, 3002)
	p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, 5, 0, 71) })
	if g := p.Want(p.B, 71); g.Len != 3001 {
		t.Errorf("receive beside a claim got %v; want the second message, 3001 bytes", g)
	}
	CheckPattern(t, "second message", buf, 3001, 1)
	p.Retry("claim", func() error {
		return p.B.Rx().TRecvMsg(&core.TaggedArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Tag: 5, Ctx: 70},
			core.OpClaim)
	})
	if g := p.Want(p.B, 70); g.Len != 3000 {
		t.Errorf("claimed receive got %v; want 3000 bytes", g)
	}
	CheckPattern(t, "claimed message", buf, 3000, 0)
	// Claim a message, then discard it.
	p.Retry("peek+claim", func() error { return peek(p.B, 5, 0, 72, core.OpClaim) })
	p.Want(p.B, 72)
	p.Retry("claim+discard", func() error {
		return p.B.Rx().TRecvMsg(&core.TaggedArgs{Addr: core.AddrUnspec, Tag: 5, Ctx: 72}, core.OpClaim|core.OpDiscard)
	})
	p.Want(p.B, 72)
	p.Retry("peek", func() error { return peek(p.B, 5, 0, 73, 0) })
	p.WantErr(p.B, 73, core.ErrNoMsg)
	p.wantSends(3)
	// A claim without a message is refused, by the call or by an error completion.
	err := p.TryPost(func() error {
		return p.B.Rx().TRecvMsg(&core.TaggedArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Tag: 5, Ctx: 74},
			core.OpClaim)
	})
	if err == nil {
		p.WantErr(p.B, 74)
	} else {
		refuse(t, "claim without a message", err, core.ErrNoMsg, core.ErrInval)
	}
	exchange(p, p.A, p.B, taggedSends[0], taggedRecvs[0], 100, 1)
}

func peekDiscard(t *testing.T, st Stack) {
	for _, size := range []int{0, 100, 300000} {
		p := Open(t, st, WithCaps(core.CapTagged))
		size = min(size, st.maxSize())
		arrive(p, size, 5, 6, 5)
		p.Retry("peek+discard", func() error { return peek(p.B, 5, 0, 80, core.OpDiscard) })
		if g := p.Want(p.B, 80); g.Tag != 5 {
			t.Errorf("discard completed as %v; want tag 5", g)
		}
		p.Retry("peek", func() error { return peek(p.B, 5, 0, 81, 0) })
		if g := p.Want(p.B, 81); g.Len != size+2 {
			t.Errorf("after a discard, peek returned %v; want the third message, %d bytes", g, size+2)
		}
		for _, i := range []int{1, 2} {
			buf := make([]byte, size+i)
			p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, uint64(7-i), 0, core.OpContext(i)) })
			p.Want(p.B, core.OpContext(i))
			CheckPattern(t, "message beside a discarded one", buf, size+i, uint64(i))
		}
		p.wantSends(3)
		p.Close()
	}
}
