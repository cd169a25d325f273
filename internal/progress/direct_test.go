package progress

import (
	"testing"

	"gofabric/internal/netx"
)

// passes makes n passes.
func passes(e *Engine, n int) {
	for range n {
		e.Lock()
		e.Pass()
		e.Unlock()
	}
}

func (p *probe) isOut() bool {
	p.e.Lock()
	defer p.e.Unlock()
	if p.direct != p.h.detached {
		p.t.Errorf("told %v", p.direct)
	}
	return p.h.detached
}

// TestDirect: streams that every pass reads leave the poller, and return before the goroutine depends on it.
func TestDirect(t *testing.T) {
	for name, back := range map[string]func(t *testing.T, e *Engine, p *probe){
		"away": func(t *testing.T, e *Engine, p *probe) {},
		"waiter": func(t *testing.T, e *Engine, p *probe) {
			e.Lock()
			e.EnterWait()
			e.Unlock()
			t.Cleanup(func() { e.Lock(); e.LeaveWait(); e.Unlock() })
			if p.isOut() {
				t.Error("out of the poller while a caller waits")
			}
		},
		"company": func(t *testing.T, e *Engine, p *probe) {
			for range directMax {
				newProbe(t, e, true)
			}
			if p.isOut() {
				t.Error("out of the poller beside more streams than passes read")
			}
		},
		"deaf": func(t *testing.T, e *Engine, p *probe) {
			e.Lock()
			p.h.Want(netx.Out)
			if p.h.detached {
				t.Error("out of the poller although passes do not read it")
			}
			p.h.Want(netx.In)
			e.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, true)
			p := newProbe(t, e, true)
			passes(e, 1)
			for range 100 { // the goroutine may take over in between
				if passes(e, 2*directAfter); p.isOut() {
					break
				}
			}
			if !p.isOut() {
				t.Fatal("still in the poller after many passes")
			}
			back(t, e, p)
			p.write(8)
			p.wait("bytes for a stream that was read directly")
			if p.lost != nil {
				t.Error(p.lost)
			}
		})
	}
}

// newMemoryProbe is newProbe for a stream in memory. The socket stands for its memory.
func newMemoryProbe(t *testing.T, e *Engine) *probe {
	t.Helper()
	p := newProbe(t, e, false)
	e.Lock()
	defer e.Unlock()
	p.h.Remove()
	h, err := e.RegisterMemory(p.fd, p, netx.In)
	if err != nil {
		t.Fatal(err)
	}
	p.h = h
	return p
}

// TestMemoryBesideSockets: passes read all streams in memory and tell their Directors so, for any
// number of streams and sockets. Sockets beside them are served as well, by passes and by the goroutine.
func TestMemoryBesideSockets(t *testing.T) {
	for _, sockets := range []int{0, 1, directMax, directMax + 1, 9} {
		for _, memory := range []int{1, 2, 7} {
			e := newEngine(t, false) // no ticks, which would serve what passes leave out
			listener := newProbe(t, e, false)
			var ms, ss []*probe
			for i := range max(sockets, memory) {
				if i < memory {
					ms = append(ms, newMemoryProbe(t, e))
				}
				if i < sockets {
					ss = append(ss, newProbe(t, e, true))
				}
			}
			passes(e, 2*directAfter)
			if told := e.count(ms); told != memory {
				t.Fatalf("%d of %d streams in memory know that passes read them, with %d sockets", told,
					memory, sockets)
			}
			for _, p := range append(ss, listener) {
				p.write(1)
			}
			passes(e, sweepEvery)
			for _, p := range append(ss, listener) {
				if p.bytes != 1 {
					t.Errorf("%d bytes received by passes, beside %d sockets and %d streams in memory", p.bytes,
						sockets, memory)
				}
			}
			e.Lock()
			e.EnterWait()
			e.Unlock()
			if told := e.count(ms); told != 0 {
				t.Errorf("%d streams in memory rely on passes while a caller sleeps", told)
			}
			for _, p := range append(append(ss, listener), ms...) {
				p.write(1)
				p.wait("the goroutine beside streams in memory")
			}
			e.Lock()
			e.LeaveWait()
			ms[0].h.Remove()
			if len(e.memory) != memory-1 || len(e.streams) != sockets {
				t.Errorf("%d streams in memory and %d others, want %d and %d", len(e.memory), len(e.streams),
					memory-1, sockets)
			}
			e.Unlock()
		}
	}
}

// count counts the probes that rely on passes.
func (e *Engine) count(ps []*probe) (n int) {
	e.Lock()
	defer e.Unlock()
	for _, p := range ps {
		if p.direct {
			n++
		}
	}
	return n
}

// TestMemoryCompany: with one socket more than directMax all sockets return to the poller, but no stream in memory
// does.
func TestMemoryCompany(t *testing.T) {
	e := newEngine(t, false)
	m, s := newMemoryProbe(t, e), newProbe(t, e, true)
	if passes(e, 2*directAfter); !s.isOut() || e.count([]*probe{m}) != 1 {
		t.Fatal("not direct")
	}
	for range directMax {
		newProbe(t, e, true)
	}
	if s.isOut() || e.count([]*probe{m}) != 1 {
		t.Errorf("the socket is out of the poller: %v, the stream in memory relies on passes: %v", s.isOut(),
			e.count([]*probe{m}) == 1)
	}
}
