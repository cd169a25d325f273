// This file tests the completion levels of fi_cq(3) (matched, committed), and the counts of regions.

package engine

import (
	"errors"
	"fmt"
	"testing"

	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// ours is a script between two gofabric peers.
func (s *script) ours() *script {
	s.a.cfg.Features, s.b.cfg.Features = wire.FeatureExtended, wire.FeatureExtended
	return s.connect()
}

// TestMatchComplete checks that a message completes when it is matched, in any order, or discarded.
func TestMatchComplete(t *testing.T) {
	variants(t, func(s *script) {
		s.ours()
		for i, n := range []int{0, 10, 300, 5000} {
			s.a.send(Send{Ctx: uint64(10 + i), Ack: true, Match: true, Tagged: true, Tag: uint64(i)}, pattern(i, n))
		}
		s.a.send(Send{Ctx: 20, Ack: true, Match: true}, pattern(4, 100))
		s.flow()
		for _, i := range []int{3, 0, 2} { // in the receiver's order
			buf := make([]byte, 6000)
			s.b.trecv(uint64(i), AnySource, uint64(i), 0, buf)
			s.flow()
			s.a.want(fmt.Sprint("send ", 10+i))
			n := []int{0, 10, 300, 5000}[i]
			s.b.want(fmt.Sprintf("recv %d len %d%s src 2", i, n, map[bool]string{true: fmt.Sprint(" tag ", i)}[i > 0]))
			same(t0(s), "message", buf[:n], pattern(i, n))
		}
		must(t0(s), s.b.rx.Peek(true, AnySource, 1, 0, 7, 0, false, true))
		s.b.want("recv 7 len 10 tag 1 src 2")
		s.flow()
		s.a.want("send 11")
		s.b.recv(30, AnySource, make([]byte, 100))
		s.b.want("recv 30 len 100 src 2")
		s.flow()
		s.a.want("send 20")
		// A message for a posted receive is matched at once.
		s.b.recv(31, AnySource, make([]byte, 50000))
		s.a.send(Send{Ctx: 21, Ack: true, Match: true}, pattern(5, 50000))
		s.flow()
		s.a.want("send 21")
		s.b.want("recv 31 len 50000 src 2")
	})
}

// TestMatchNeedsAll checks that a matched message is not complete before all of it has come, because the path may
// still fail.
func TestMatchNeedsAll(t *testing.T) {
	for _, early := range []bool{true, false} {
		s := newScript(t).ours()
		if early {
			s.b.recv(1, AnySource, make([]byte, 50000))
		}
		s.a.send(Send{Ctx: 2, Ack: true, Match: true}, pattern(5, 50000))
		s.a.transmit(1 << 30)
		s.receive(s.b, 20000)
		if !early {
			s.b.recv(1, AnySource, make([]byte, 50000))
		}
		s.b.transmit(1 << 30)
		s.receive(s.a, 1<<30)
		if len(s.a.events) > 0 {
			t.Errorf("%v, and 30000 bytes are still to come", s.a.events)
		}
		s.flow()
		s.a.want("send 2")
		s.b.want("recv 1 len 50000 src 2")
	}
}

// TestMatchByRendezvous checks the same for a rendezvous: that the payload was asked for is not enough.
func TestMatchByRendezvous(t *testing.T) {
	for _, how := range []string{"posted before", "posted behind", "discarded"} {
		s := newScript(t)
		s.a.cfg.Features, s.b.cfg.Features = wire.FeatureExtended, wire.FeatureExtended
		withRendezvous(s)
		post := func() { s.b.trecv(1, 2, 4, 0, make([]byte, 6000)) }
		if how == "posted before" {
			post()
		}
		s.a.send(Send{Ctx: 2, Ack: true, Match: true, Tagged: true, Tag: 4}, pattern(5, 6000))
		s.flow()
		if how == "discarded" {
			s.a.want()
			must(t, s.b.rx.Peek(true, 2, 4, 0, 1, 0, false, true))
			s.flow()
		} else if how == "posted behind" {
			s.a.want()
			post()
			s.b.transmit(1 << 30)
			s.receive(s.a, 1<<30) // asks for the data
			s.a.transmit(1 << 30) // the data has left
			if len(s.a.events) > 0 {
				t.Errorf("%v, although none of the data was received", s.a.events)
			}
			s.flow()
		}
		s.a.want("send 2")
		s.b.want("recv 1 len 6000 tag 4 src 2") // the completion of the discard
	}
}

// TestMatchEnd checks that messages that are neither matched nor transmitted fail once when the connection ends.
func TestMatchEnd(t *testing.T) {
	s := newScript(t).ours()
	s.a.send(Send{Ctx: 1, Ack: true, Match: true}, pattern(1, 10))
	s.flow()
	s.a.send(Send{Ctx: 2, Ack: true, Match: true}, pattern(1, 10000))
	if s.a.c.Cancel(2) {
		t.Error("a message that the peer numbers was withdrawn from the stream")
	}
	s.a.transmit(100)
	s.a.c.Drop(ErrPeerClose)
	s.a.want("send 1: the connection ended without a closing message", "send 2: the connection ended without a closing message")
}

// TestMatchRefused checks that peers without the feature are not asked for matches, and may not report any.
func TestMatchRefused(t *testing.T) {
	s := connected(t)
	s.a.send(Send{Ctx: 1, Ack: true, Match: true}, pattern(1, 10))
	s.a.want("send 1: operation not supported by the peer")
	s = newScript(t).ours()
	s.b.inject(append(header(wire.Header{Op: wire.OpExt}, wire.MatchedLen), wire.AppendMatched(nil, 0)...))
	s.b.want(`failed "": the peer violated the protocol`)
	s = newScript(t).ours()
	s.a.c.Ours = false // a gateway
	s.a.send(Send{Kind: KindWrite, Ctx: 1, Commit: true, NRMA: 1, RMA: segs(wire.RMAIov{Len: 4})}, pattern(1, 4))
	s.a.want("write 1: operation not supported by the peer")
}

// TestCommit checks that persistent memory is written back once per range before it is acknowledged or answered,
// and that regions count an operation once.
func TestCommit(t *testing.T) {
	variants(t, func(s *script) {
		s.ours()
		s.b.mem.regions = [][]byte{make([]byte, 10000)}
		two := segs(wire.RMAIov{Addr: 8, Len: 16}, wire.RMAIov{Addr: 64, Len: 8})
		s.a.send(Send{Kind: KindWrite, Ctx: 1, Commit: true, NRMA: 2, RMA: two}, pattern(1, 24))
		s.flow()
		s.a.want("write 1 len 24")
		s.b.want("silent rwrite 0 len 24")
		s.b.wantCounted("persist 16", "persist 8", "true 24")
		s.a.send(Send{Kind: KindWrite, Ctx: 2, Ack: true, NRMA: 2, RMA: two}, pattern(1, 24))
		s.a.send(Send{Kind: KindRead, Ctx: 3, NRMA: 2, RMA: two}, make([]byte, 24))
		s.flow()
		s.b.wantCounted("true 24", "false 24")
		o := sumOf(KindAtomic, atomics.Sum, two[0], two[1])
		o.Ctx, o.Commit = 4, true
		s.a.send(o, pattern(1, 24))
		o = sumOf(KindFetch, atomics.Sum, two[0], two[1])
		o.Ctx, o.Commit = 5, true
		o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 24))
		s.a.send(o, pattern(1, 24))
		s.flow()
		s.a.events = nil
		s.b.events = nil
		s.b.wantCounted("persist 16", "persist 8", "true 24", "persist 16", "persist 8", "false 24")
	})
}

// TestCommitFails checks that a storage error ends the connection, as there is no other way to report it.
func TestCommitFails(t *testing.T) {
	for _, kind := range []Kind{KindWrite, KindAtomic, KindFetch} {
		s := newScript(t).ours()
		s.b.mem.regions, s.b.mem.broken = [][]byte{make([]byte, 100)}, errors.New("no storage")
		o := sumOf(kind, atomics.Sum, wire.RMAIov{Addr: 8, Len: 16})
		o.Ctx, o.Commit = 1, true
		if kind == KindFetch {
			o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 16))
		} else if kind == KindWrite {
			o.Atomic = nil
		}
		s.a.send(o, pattern(1, 16))
		s.flow()
		s.b.want(`failed "": persistent memory could not be written back`)
		s.b.mem.counted = nil
		s.a.c.Drop(ErrPeerClose)
		if len(s.a.events) != 1 {
			t.Errorf("kind %d: %q", kind, s.a.events)
		}
		s.a.events = nil
	}
}

// TestBehindReads checks that a fence with Reads waits for reads only.
func TestBehindReads(t *testing.T) {
	s := newScript(t).ours()
	s.b.mem.regions = [][]byte{make([]byte, 100)}
	s.a.send(Send{Ctx: 1, Ack: true}, pattern(1, 10))
	// The send before it is not complete, but does not read.
	s.a.send(Send{Ctx: 2, Fence: true, Reads: true}, pattern(2, 10))
	s.a.send(Send{Kind: KindRead, Ctx: 3, NRMA: 1, RMA: segs(wire.RMAIov{Len: 10})}, make([]byte, 10))
	s.a.transmit(1 << 20)
	s.a.want("send 2")
	s.a.send(Send{Ctx: 4, Fence: true, Reads: true}, pattern(3, 10))
	s.a.transmit(1 << 20)
	s.a.want()
	if len(s.a.events) > 0 {
		t.Fatalf("a send behind a read did not wait: %q", s.a.events)
	}
	s.flow()
	s.a.want("send 1", "read 3 len 10", "send 4")
	s.b.events, s.b.mem.counted = nil, nil
}

func (e *end) wantCounted(want ...string) {
	e.t.Helper()
	if fmt.Sprint(e.mem.counted) != fmt.Sprint(want) {
		e.t.Errorf("the region has counted %q, want %q", e.mem.counted, want)
	}
	e.mem.counted = nil
}

// TestHeldEndsCoalesced checks that small messages do not join those before an operation that waits for a fence,
// and overtake it.
func TestHeldEndsCoalesced(t *testing.T) {
	s := newScript(t).ours()
	s.b.mem.regions = [][]byte{make([]byte, 100)}
	s.a.send(Send{Kind: KindRead, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 10})}, make([]byte, 10))
	s.a.send(Send{Ctx: 2}, pattern(2, 10))
	s.a.send(Send{Ctx: 3, Fence: true}, pattern(3, 10))
	if s.a.c.Join(pattern(4, 10), false, 0) {
		t.Error("joined a message in front of the fence")
	}
	if !s.a.c.Reading() {
		t.Error("a read is under way")
	}
	s.flow()
	s.a.want("send 2", "read 1 len 10", "send 3")
	s.b.events, s.b.mem.counted = nil, nil
	if s.a.c.Reading() {
		t.Error("no read is under way")
	}
}

// TestBehindHalfARead checks that writes wait until all of the data of a read has come, and fetching atomic
// operations only for reads.
func TestBehindHalfARead(t *testing.T) {
	s := newScript(t).ours()
	s.b.mem.regions = [][]byte{make([]byte, 5000)}
	s.a.send(Send{Kind: KindRead, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 5000})}, make([]byte, 5000))
	s.a.transmit(1 << 20)
	s.receive(s.b, 1<<20)
	s.b.transmit(1 << 20)
	s.receive(s.a, 1000)
	if !s.a.c.Reading() {
		t.Fatal("a read with half of its data counts as complete")
	}
	for ctx := range uint64(2) {
		o := sumOf(KindFetch, atomics.Sum, wire.RMAIov{Addr: 8, Len: 16})
		o.Ctx, o.Fence, o.Reads = 2+ctx, true, true
		o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 16))
		s.a.send(o, pattern(1, 16))
	}
	if s.a.c.waits != 2 {
		t.Errorf("%d operations wait, want 2", s.a.c.waits)
	}
	s.receive(s.a, 1<<20)
	if s.a.c.waits != 0 {
		t.Errorf("%d operations wait, want 0", s.a.c.waits)
	}
	s.flow()
	s.a.want("read 1 len 5000", "fetch 2 len 16", "fetch 3 len 16")
	s.b.events, s.b.mem.counted = nil, nil
}
