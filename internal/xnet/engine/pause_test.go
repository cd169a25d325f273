package engine

import (
	"testing"

	"gofabric/internal/xnet/wire"
)

// TestPause has a peer send many forbidden accesses in one piece. The connection stops in the middle, and continues
// after each Unpause. A peer that is refused now and then is not paused.
func TestPause(t *testing.T) {
	for _, op := range []wire.Op{wire.OpWrite, wire.OpReadReq} {
		s := withVerdicts(newScript(t))
		msg := header(wire.Header{Op: op, IovCnt: 1, IOV: segs(wire.RMAIov{Key: 9})}, 0)
		const all = 5*refusalsAtOnce + 3
		var many []byte
		for range all {
			many = append(many, msg...)
		}
		s.b.c.Receive(0, many)
		pauses := 0
		for ; s.b.c.Paused(); pauses++ {
			if !s.b.c.Stalled() {
				t.Fatal("a connection that pauses takes bytes")
			}
			if n := int(s.b.c.answers.budget.older + s.b.c.answers.budget.newer); n != (pauses+1)*refusalsAtOnce {
				t.Fatalf("%v: %d refusals before pause %d", op, n, pauses+1)
			}
			s.b.c.Unpause()
		}
		if n := int(s.b.c.answers.budget.older + s.b.c.answers.budget.newer); pauses != 5 || n != all {
			t.Errorf("%v: %d pauses, %d of %d refused", op, pauses, n, all)
		}
		s.b.c.Unpause() // no effect
		if s.b.c.State() != Connected {
			t.Errorf("%v: the connection has ended", op)
		}
	}
}

// TestPauseEnds closes a connection that pauses.
func TestPauseEnds(t *testing.T) {
	s := withVerdicts(newScript(t))
	msg := header(wire.Header{Op: wire.OpWrite, IovCnt: 1, IOV: segs(wire.RMAIov{Key: 9})}, 0)
	for !s.b.c.Paused() {
		s.b.c.Receive(0, msg)
	}
	s.b.c.Fail(ErrPeerClose)
	s.b.want(`failed "": the connection ended without a closing message`)
	s.b.c.Unpause()
	if s.b.c.Paused() || s.b.c.State() != Closed {
		t.Error("the connection is still paused")
	}
}

// TestShare checks that the share of a connection shrinks as others keep more, and is never zero while there is
// room.
func TestShare(t *testing.T) {
	rx := &RxContext{Limit: 1 << 20, PeerLimit: 1 << 18}
	conns := make([]source, 100)
	own := rx.Limit / 1024
	for n := range conns {
		began := rx.bytes
		for i := 0; !rx.full(&conns[n]); i++ {
			rx.bytes += 16
			conns[n].unexpBytes += 16
			has, free := conns[n].unexpBytes, max(rx.Limit, rx.bytes)-rx.bytes
			if want := has >= own && has*(rx.Limit-rx.PeerLimit) >= free*rx.PeerLimit; rx.full(&conns[n]) != want {
				t.Fatalf("connection %d with %d bytes, while %d are free: full %v", n, has, free, !want)
			}
		}
		if got := rx.bytes - began; n == 0 && got != rx.PeerLimit || got < own || got > rx.PeerLimit {
			t.Fatalf("connection %d may keep %d bytes behind %d of others", n, got, began)
		}
	}
	if most := rx.Limit + own*uint64(len(conns)); rx.bytes > most {
		t.Errorf("%d bytes are kept; the limit is %d", rx.bytes, most)
	}
	if full := (&source{unexpBytes: own}); !rx.full(full) {
		t.Error("there is more room than the limit allows")
	}
	rx = &RxContext{Limit: 1 << 63, PeerLimit: 1 << 61} // the products exceed 64 bits
	for has, want := range map[uint64]bool{rx.PeerLimit - 1: false, rx.PeerLimit: true} {
		if rx.bytes = has; rx.full(&source{unexpBytes: has}) != want {
			t.Errorf("one alone has %d bytes: full %v", has, !want)
		}
	}
}
