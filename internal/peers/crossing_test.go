package peers_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// everyOrder runs a test with every order in which the network can deliver. f is run in a new world each time.
func everyOrder(t *testing.T, f func(w *world)) (orders int) {
	synctest.Test(t, func(t *testing.T) {
		var path, width []int // the choices of a run, and among how many
		for {
			at := 0
			inWorld(t, func(w *world) {
				w.n.pick = func(n int) int {
					if at == len(path) {
						path, width = append(path, 0), append(width, n)
					}
					at++
					return path[at-1]
				}
				f(w)
			})
			if orders++; t.Failed() {
				t.Fatalf("with the choices %v", path)
			}
			last := len(path) - 1
			for last >= 0 && path[last]+1 == width[last] {
				last--
			}
			if last < 0 {
				return
			}
			path, width = path[:last+1], width[:last+1]
			path[last]++
		}
	})
	return orders
}

// TestCrossing: two endpoints connect to each other at once. Whatever arrives first, one connection remains, and
// each message arrives once and in order.
func TestCrossing(t *testing.T) {
	for _, native := range []bool{false, true} {
		refused := false
		n := everyOrder(t, func(w *world) {
			a, b := w.open(low, settings{}), w.open(high, settings{native: native})
			toB, toA := a.insert(b), b.insert(a)
			a.sendAck(toB, "a1", 1)
			a.send(toB, "a2", 2)
			b.send(toA, "b1", 1)
			w.flow()
			a.send(toB, "a3", 3)
			w.flow()
			a.sorted("a", "sent 1, sent 2, sent 3", "b1 from 0")
			b.sorted("b", "sent 1", "a1 from 0, a2 from 0, a3 from 0")
			a.conns(1)
			b.conns(1)
			refused = refused || b.crossed > 0
			if a.crossed > 0 {
				t.Error("the endpoint with the lower address has refused a request that crossed its own")
			}
		})
		if n < 100 || !refused {
			t.Errorf("%d orders, a request was refused: %v", n, refused)
		}
	}
}

// sorted checks the completions since the last call, transmits apart from receives.
func (a *app) sorted(name, sent, got string) {
	a.t.Helper()
	a.read()
	var s, r []string
	for _, x := range a.said {
		if strings.Contains(x, "from") {
			r = append(r, x)
		} else {
			s = append(s, x)
		}
	}
	a.said = nil
	slices.Sort(s) // one that waits for the acknowledgement is complete later
	if x := strings.Join(s, ", "); x != sent {
		a.t.Errorf("%s: %q, want %q", name, x, sent)
	}
	if x := strings.Join(r, ", "); x != got {
		a.t.Errorf("%s received %q, want %q", name, x, got)
	}
}
