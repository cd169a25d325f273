package progress

// This file tests that sources are registered and removed.

import (
	"math/rand/v2"
	"testing"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// TestStaleEvents handles an event by removing the source of another event of the same batch, and gives the slot to
// a new source.
func TestStaleEvents(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		e := newEngine(t, false)
		var ps []*probe
		for range 6 {
			ps = append(ps, newProbe(t, e, true))
		}
		fresh := &probe{t: t, e: e, got: make(chan int, 64), expired: make(chan mono.Time, 1)}
		served := 0
		for i, p := range ps {
			p.onReady = func() {
				served++
				for j, q := range ps {
					if j != i {
						q.remove()
					}
				}
				if !reuse {
					return
				}
				fresh.fd, fresh.far = pair(t)
				var err error
				if fresh.h, err = e.Register(fresh.fd, fresh, true, netx.In); err != nil {
					t.Fatal(err)
				}
			}
			p.write(1)
		}
		e.Lock()
		e.Pass()
		if served != 1 {
			t.Errorf("%d sources served, want 1: the first removed the others", served)
		}
		if fresh.ready+fresh.polls > 0 {
			t.Error("the new source got an event of the old one")
		}
		if reuse {
			fresh.write(1)
			for range 2 * sweepEvery {
				e.Pass()
			}
			if fresh.bytes != 1 {
				t.Errorf("the new source received %d bytes, want 1", fresh.bytes)
			}
			fresh.remove()
			netx.Close(fresh.far)
		}
		e.Unlock()
	}
}

// TestHangUp: a source that waits for edges only receives a hang-up once, and not in every pass. Reading cannot
// clear a hang-up.
func TestHangUp(t *testing.T) {
	if !netx.EdgeTriggered {
		t.Skip("there are no edges on this system")
	}
	e := newEngine(t, false)
	p := newProbe(t, e, false)
	e.Lock()
	defer e.Unlock()
	p.keep = true
	if err := p.h.Want(netx.Edge); err != nil {
		t.Fatal(err)
	}
	netx.Close(p.far)
	p.far = netx.NoFD
	for range 20 {
		e.Pass()
	}
	if p.ready > 1 {
		t.Errorf("the hang-up was reported %d times", p.ready)
	}
	if err := p.h.Want(netx.In); err != nil {
		t.Fatal(err)
	}
	before := p.ready
	e.Pass()
	if p.ready == before {
		t.Error("the hang-up is not reported after it was asked for again")
	}
}

// TestMany registers, writes to and removes a few hundred sources in any order.
func TestMany(t *testing.T) {
	e := newEngine(t, true)
	r := rand.New(rand.NewPCG(1, 2))
	var ps []*probe
	for round := range 6 {
		for len(ps) < 300 {
			ps = append(ps, newProbe(t, e, len(ps)%4 != 0))
		}
		for _, p := range ps {
			p.write(1)
			if round%2 == 1 {
				e.Lock()
				e.Pass()
				e.Unlock()
			}
		}
		for _, p := range ps {
			p.wait("one of many")
		}
		r.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
		for _, p := range ps[:200] {
			p.close()
		}
		ps = ps[200:]
		e.Lock()
		for i, h := range e.streams {
			if h.place != i {
				t.Fatalf("stream %d has the place %d", i, h.place)
			}
		}
		if live := len(e.slots) - len(e.free); live != len(ps) {
			t.Fatalf("%d sources registered, want %d", live, len(ps))
		}
		e.Unlock()
	}
	if len(e.slots) > 300 {
		t.Errorf("%d slots for 300 sources at a time", len(e.slots))
	}
}

// TestRemoveTwice: a second Remove does nothing, even if another source has taken the slot.
func TestRemoveTwice(t *testing.T) {
	e := newEngine(t, false)
	p := newProbe(t, e, true)
	h := p.h
	p.close()
	q := newProbe(t, e, true)
	e.Lock()
	h.Remove()
	e.Unlock()
	q.write(1)
	e.Lock()
	defer e.Unlock()
	e.Pass()
	if q.bytes != 1 {
		t.Error("the second Remove removed another source")
	}
}

// TestRegisterFails: the slot becomes free again when the poller refuses the socket.
func TestRegisterFails(t *testing.T) {
	e := newEngine(t, false)
	e.Lock()
	defer e.Unlock()
	for range 3 {
		if _, err := e.Register(netx.NoFD, timerFunc{}, true, netx.In); err == nil {
			t.Fatal("a bad descriptor was registered")
		}
	}
	if len(e.slots) != 1 || len(e.free) != 1 || len(e.streams) != 0 {
		t.Errorf("%d slots, %d free, %d streams; want 1, 1, 0", len(e.slots), len(e.free), len(e.streams))
	}
}
