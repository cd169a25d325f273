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
	if p.direct != p.h.out {
		p.t.Errorf("told %v", p.direct)
	}
	return p.h.out
}

// TestDirect: streams that every pass reads leave the poller, and are back before anybody relies on it.
func TestDirect(t *testing.T) {
	for name, back := range map[string]func(t *testing.T, e *Engine, p *probe){
		"away": func(t *testing.T, e *Engine, p *probe) {},
		"waiter": func(t *testing.T, e *Engine, p *probe) {
			e.Lock()
			e.EnterWait()
			e.Unlock()
			t.Cleanup(func() { e.Lock(); e.LeaveWait(); e.Unlock() })
			if p.isOut() {
				t.Error("out of the poller while somebody waits")
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
			if p.h.out {
				t.Error("out of the poller though passes do not read it")
			}
			p.h.Want(netx.In)
			e.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, true)
			p := newProbe(t, e, true)
			passes(e, 1)
			for range 100 { // the goroutine may step in between
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
