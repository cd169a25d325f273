// This file tests the memory of an idle connection.

package engine

import (
	"reflect"
	"testing"

	"gofabric/internal/xnet/wire"
)

func TestConnSize(t *testing.T) {
	// This is a size of Go's allocator. docs/wire/rxd.md promises 1 KiB for all of an idle peer.
	if n := reflect.TypeFor[Conn]().Size(); n > 384 {
		t.Errorf("a connection has %d bytes", n)
	}
}

// TestIdleHoldsNothing checks that after all kinds of traffic, cut in all ways, an idle connection holds no memory
// except itself.
func TestIdleHoldsNothing(t *testing.T) {
	for _, cut := range []int{1, 17, 1 << 20} {
		s := readyPair(t)
		s.cut = cut
		s.a.cfg.RendezvousOver = 2000
		s.a.c.Rendezvous, s.b.c.Rendezvous = true, true
		s.b.mem.regions = [][]byte{make([]byte, 5000)}
		buf := make([]byte, 5000)
		all := segs(wire.RMAIov{Len: 5000})
		for range 3 {
			s.a.send(Send{}, buf[:100])
			s.a.send(Send{Ack: true}, buf)
			s.a.send(Send{Tagged: true, Tag: 1}, buf)
			s.a.send(Send{Kind: KindWrite, NRMA: 1, RMA: all}, buf)
			s.a.send(Send{Kind: KindRead, NRMA: 1, RMA: all}, buf)
			if s.a.c.Idle() {
				t.Error("busy, and idle")
			}
			s.flow()
			for range 2 {
				s.b.recv(0, AnySource, buf)
			}
			s.b.trecv(0, AnySource, 1, 0, buf)
			s.flow()
			for _, e := range []*end{s.a, s.b} {
				c := e.c
				if !c.Idle() || !c.in.idle() || !c.rdv.idle() || c.out.segs != nil || c.out.tail != nil {
					t.Fatalf("%s is not idle: %+v", e.name, c)
				}
				e.checkPool()
				e.events = nil
			}
		}
	}
}

// TestFrugal checks that a few bytes without an acknowledgement hold little memory.
func TestFrugal(t *testing.T) {
	s := readyPair(t)
	s.a.cfg.Frugal = true
	s.a.send(Send{Silent: true}, make([]byte, 100))
	if n := cap(s.a.c.out.tail.b); n != smallSize {
		t.Errorf("%d bytes", n)
	}
	for range 30 {
		s.a.send(Send{Silent: true}, make([]byte, 100))
	}
	if n := cap(s.a.c.out.tail.b); n != chunkSize {
		t.Errorf("%d bytes", n)
	}
	s.a.events = nil
	s.flow()
	s.b.rx.Release()
}
