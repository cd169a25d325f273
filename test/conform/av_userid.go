package conform

import (
	"testing"

	"gofabric/core"
)

const userIDCaps = core.CapAVUserID | core.CapTagged | core.CapSource | core.CapDirectedRecv

// say sends from one side to the other and returns the source that the receiver reports.
func say(p *Pair, from, to *Side, post func(buf []byte) error) core.FIAddr {
	p.T.Helper()
	in, out := make([]byte, 32), Pattern(32, 9)
	to.ok("receive", post(in))
	p.Retry("send", func() error { return from.EP.TSend(out, 0, from.Peer, 7, 901) })
	p.Want(from, 901)
	g := p.Want(to, 900)
	CheckPattern(p.T, "message", in, 32, 9)
	return g.Src
}

// avUserID checks that completions report identifiers instead of indices, in a vector that was opened for that.
func avUserID(t *testing.T, st Stack) {
	if !st.need(t, userIDCaps) {
		return
	}
	p := Open(t, st, WithCaps(userIDCaps), WithAV(core.AVAttr{Flags: core.AVUserID}))
	b := p.B
	anybody := func(in []byte) error { return b.Rx().TRecv(in, 0, core.AddrUnspec, 7, 0, 900) }
	if src := say(p, p.A, b, anybody); src != core.AddrNotAvail {
		t.Errorf("source %d before SetUserID; want AddrNotAvail", int64(src))
	}
	const id core.FIAddr = 0xfeed_0000_1111
	b.ok("SetUserID", b.AV.SetUserID(b.Peer, id, 0))
	if src := say(p, p.A, b, anybody); src != id {
		t.Errorf("source %#x; want the identifier %#x", uint64(src), id)
	}
	// Calls still take the index.
	if src := say(p, p.A, b, func(in []byte) error { return b.Rx().TRecv(in, 0, b.Peer, 7, 0, 900) }); src != id {
		t.Errorf("source of a directed receive %#x; want the identifier %#x", uint64(src), id)
	}
	// An unexpected message, a truncated one, and one that was peeked at.
	out := Pattern(64, 3)
	for _, tag := range []uint64{1, 2} {
		p.Retry("send", func() error { return p.A.EP.TSend(out, 0, p.A.Peer, tag, 5) })
		p.Want(p.A, 5)
	}
	var found Got
	p.until("peek", func() bool {
		b.ok("peek", peek(b, 2, 0, 6, 0))
		found = p.WantEnd(b, 6, Deadline)
		return found.Err == nil
	})
	if found.Src != id {
		t.Errorf("source of a message found by Peek %#x; want %#x", uint64(found.Src), id)
	}
	small := make([]byte, 10)
	b.ok("receive", b.Rx().TRecv(small, 0, core.AddrUnspec, 1, 0, 7))
	if g := p.WantErr(b, 7, core.ErrTrunc); g.Src != id {
		t.Errorf("source of a truncated message %#x; want %#x", uint64(g.Src), id)
	}
	in := make([]byte, 64)
	b.ok("receive", b.Rx().TRecv(in, 0, core.AddrUnspec, 2, 0, 8))
	if g := p.Want(b, 8); g.Src != id {
		t.Errorf("source of an unexpected message %#x; want %#x", uint64(g.Src), id)
	}
	refuse(t, "SetUserID of no address", b.AV.SetUserID(5000, 1, 0), core.ErrInval)
	if _, err := b.AV.Insert([]core.Addr{p.A.Addr}, []core.FIAddr{1},
		core.InsertUserID); !oneOf(err, core.ErrBadFlags, core.ErrInval) {
		t.Errorf("identifier in an insertion into a vector opened for SetUserID: %v", err)
	}
}

// avUserIDInsert passes the identifiers with insertions.
func avUserIDInsert(t *testing.T, st Stack) {
	if !st.need(t, userIDCaps) {
		return
	}
	p := Open(t, st, WithCaps(userIDCaps), WithoutPeer())
	b := p.B
	fi := []core.FIAddr{0xabcdef}
	if n, err := b.AV.Insert([]core.Addr{p.A.Addr}, fi, core.InsertUserID); n != 1 || err != nil || fi[0] != 0 {
		t.Fatalf("Insert with an identifier: %d, %v, index %d; want the vector's index", n, err, fi[0])
	}
	b.Peer = fi[0]
	anybody := func(in []byte) error { return b.Rx().TRecv(in, 0, core.AddrUnspec, 7, 0, 900) }
	if src := say(p, p.A, b, anybody); src != 0xabcdef {
		t.Errorf("source %#x; want the identifier", uint64(src))
	}
	if src := say(p, b, p.A, func(in []byte) error { return p.A.Rx().TRecv(in, 0, core.AddrUnspec, 7, 0, 900) }); src != p.A.Peer {
		t.Errorf("source %#x; without identifier want the index %d", uint64(src), p.A.Peer)
	}
	refuse(t, "SetUserID of a vector not opened for it", b.AV.SetUserID(fi[0], 1, 0), core.ErrInval)
}
