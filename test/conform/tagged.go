package conform

// Tagged messages (fi_tagged(3)): all calls, masks, order, directed receives, cancel.

import (
	"fmt"
	"testing"

	"gofabric/core"
)

func testTagged(t *testing.T, st Stack) {
	if !st.need(t, core.CapTagged) {
		taggedRefused(t, st)
		return
	}
	t.Run("calls", func(t *testing.T) { callMatrix(t, st, core.CapTagged, taggedSends, taggedRecvs) })
	t.Run("large", func(t *testing.T) { largeMessages(t, st, core.CapTagged, taggedSends, taggedRecvs) })
	t.Run("limits", func(t *testing.T) { taggedLimits(t, st) })
	t.Run("backwards", func(t *testing.T) { taggedBackwards(t, st) })
	t.Run("many", func(t *testing.T) { taggedMany(t, st) })
	t.Run("model", func(t *testing.T) { taggedModel(t, st) })
	t.Run("separate", func(t *testing.T) { taggedSeparate(t, st) })
	t.Run("unexpected", func(t *testing.T) { taggedUnexpected(t, st) })
	t.Run("cancel", func(t *testing.T) { cancel(t, st, true) })
}

// taggedRefused checks that an endpoint without CapTagged refuses tagged calls.
func taggedRefused(t *testing.T, st Stack) {
	p := Open(t, st)
	no := []core.Errno{core.ErrNoSys, core.ErrOpNotSupp}
	b := make([]byte, 4)
	refuse(t, "tsend", p.A.EP.TSend(b, 0, p.A.Peer, 1, 1), no...)
	refuse(t, "tinject", p.A.EP.TInject(b, p.A.Peer, 1), no...)
	refuse(t, "trecv", p.A.EP.TRecv(b, 0, core.AddrUnspec, 1, 0, 1), no...)
}

func taggedLimits(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTagged))
	a := p.A
	big := make([]byte, a.Info.Tx.InjectSize+1)
	many := split(make([]byte, 64), a.Info.Tx.IOVLimit+1)
	bad := []core.Errno{core.ErrInval, core.ErrMsgSize, core.Err2Big}
	refuse(t, "tinject of more than the inject size", a.EP.TInject(big, a.Peer, 1), bad...)
	refuse(t, "tinjectdata of more than the inject size", a.EP.TInjectData(big, 1, a.Peer, 1), bad...)
	refuse(t, "tsendv with too many iovs", a.EP.TSendV(many, nil, a.Peer, 1, 1), bad...)
	refuse(t, "trecvv with too many iovs", a.Rx().TRecvV(many, nil, core.AddrUnspec, 1, 0, 1), bad...)
	exchange(p, p.A, p.B, taggedSends[0], taggedRecvs[0], 50, 1)
}

// taggedMany posts 100,000 receives of distinct tags, and sends to some all over the queue.
func taggedMany(t *testing.T, st Stack) {
	const n, sends = 100_000, 300
	p := Open(t, st, WithCaps(core.CapTagged), WithRxSize(n))
	if p.B.Info.Rx.Size != n {
		t.Fatalf("rx_attr.size: asked for %d, got %d", n, p.B.Info.Rx.Size)
	}
	buf := make([]byte, 8)
	for i := range n {
		if err := p.B.Rx().TRecv(buf, 0, core.AddrUnspec, uint64(i), 0, core.OpContext(i)); err != nil {
			t.Fatalf("receive %d: %v", i, err)
		}
	}
	for i := range sends {
		tag := uint64(i+1) * 7919 * 31 % n
		p.Retry("tinject", func() error { return p.A.EP.TInject(Pattern(8, tag), p.A.Peer, tag) })
		if g := p.Want(p.B, core.OpContext(tag)); g.Tag != tag {
			t.Fatalf("receive %d got tag %d", tag, g.Tag)
		}
		CheckPattern(t, fmt.Sprint("tag ", tag), buf, 8, tag)
	}
}

// taggedBackwards posts 1000 receives of distinct tags in the reverse order of the sends.
func taggedBackwards(t *testing.T, st Stack) {
	const n = 1000
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late=%v", late), func(t *testing.T) {
			p := Open(t, st, WithCaps(core.CapTagged), WithRxSize(1024))
			bufs := make([][16]byte, n)
			post := func() {
				for i := n - 1; i >= 0; i-- {
					p.Retry("trecv", func() error {
						return p.B.Rx().TRecv(bufs[i][:], 0, core.AddrUnspec, uint64(i)<<32|7, 0, core.OpContext(i))
					})
				}
			}
			if !late {
				post()
			}
			for i := range n {
				p.Retry("tinject", func() error { return p.A.EP.TInject(Pattern(16, uint64(i)), p.A.Peer, uint64(i)<<32|7) })
			}
			if late {
				post()
			}
			for i := range n {
				g := p.Want(p.B, core.OpContext(i))
				if g.Tag != uint64(i)<<32|7 {
					t.Fatalf("receive %d got tag %#x", i, g.Tag)
				}
				CheckPattern(t, fmt.Sprint("tag ", i), bufs[i][:], 16, uint64(i))
			}
		})
	}
}

// taggedSeparate checks that tagged and untagged traffic never match each other.
func taggedSeparate(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTagged))
	tb, mb := make([]byte, 8), make([]byte, 8)
	p.Retry("trecv", func() error { return p.B.Rx().TRecv(tb, 0, core.AddrUnspec, 0, ^uint64(0), 1) })
	p.Retry("recv", func() error { return p.B.Rx().Recv(mb, 0, core.AddrUnspec, 2) })
	p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(8, 1), p.A.Peer) })
	if g := p.Want(p.B, 2); g.Flags&core.CompTagged != 0 {
		t.Errorf("untagged message completed as %v", g)
	}
	p.WantNone(p.B)
	p.Retry("tinject", func() error { return p.A.EP.TInject(Pattern(8, 2), p.A.Peer, p.A.tags()) })
	if g := p.Want(p.B, 1); g.Tag != p.A.tags() {
		t.Errorf("tagged message completed as %v", g)
	}
	CheckPattern(t, "untagged", mb, 8, 1)
	CheckPattern(t, "tagged", tb, 8, 2)
}

// taggedUnexpected checks that unexpected messages with one tag do not stall messages whose receives are posted.
func taggedUnexpected(t *testing.T, st Stack) {
	const n = 1000
	p := Open(t, st, WithCaps(core.CapTagged), WithRxSize(64))
	for i := range n {
		p.Retry("tinject", func() error { return p.A.EP.TInject(Pattern(100, uint64(i)), p.A.Peer, uint64(1000+i)) })
	}
	p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(9, 9), p.A.Peer) })
	exchange(p, p.A, p.B, taggedSends[0], taggedRecvs[0], 5000, 1)
	buf := make([]byte, 100)
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 4) })
	p.Want(p.B, 4)
	CheckPattern(t, "untagged behind unexpected tagged", buf, 9, 9)
	for i := n - 1; i >= 0; i-- {
		p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, uint64(1000+i), 0, core.OpContext(i)) })
		p.Want(p.B, core.OpContext(i))
		CheckPattern(t, fmt.Sprint("unexpected ", i), buf, 100, uint64(i))
	}
}

// cancel checks fi_cancel(3) of receives.
func cancel(t *testing.T, st Stack, tagged bool) {
	caps, sends, recvs := core.CapMsg, msgSends, msgRecvs
	if tagged {
		caps, sends, recvs = core.CapTagged, taggedSends, taggedRecvs
	}
	p := Open(t, st, WithCaps(caps))
	var bufs [6][64]byte
	for i := range bufs {
		p.Retry("recv", func() error { return recvs[i%len(recvs)].do(p.B, bufs[i][:], 5, core.OpContext(i+1)) })
	}
	for _, c := range []core.OpContext{3, 1, 6} {
		p.B.ok("Cancel", p.B.Rx().Cancel(c))
		g := p.WantErr(p.B, c, core.ErrCanceled)
		if g.Flags&core.CompRecv == 0 {
			t.Errorf("canceled receive's flags %#x lack Recv", uint64(g.Flags))
		}
	}
	if err := p.B.Rx().Cancel(0x7777); err != nil && !oneOf(err, core.ErrNoEnt) {
		t.Errorf("Cancel of an unknown context: %v; want nil or ErrNoEnt", err)
	}
	p.B.ok("Cancel twice", ignore(p.B.Rx().Cancel(3), core.ErrNoEnt))
	p.WantNone(p.B)
	for i, c := range []core.OpContext{2, 4, 5} { // the others are still posted, in order
		p.Retry("send", func() error { return sends[0].do(p.A, Pattern(30, uint64(i)), 5, 77) })
		p.Want(p.A, 77)
		p.Want(p.B, c)
		CheckPattern(t, "message", bufs[c-1][:], 30, uint64(i))
	}
	for _, i := range []int{0, 2, 5} {
		CheckZero(t, "buffer of a canceled receive", bufs[i][:])
	}
	exchange(p, p.A, p.B, sends[0], recvs[0], 64, 1)
}

// ignore returns nil if err is the given error.
func ignore(err error, what core.Errno) error {
	if oneOf(err, what) {
		return nil
	}
	return err
}
