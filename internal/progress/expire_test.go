package progress

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gofabric/internal/mono"
)

// TestHeapModel compares the heap with a sorted list.
func TestHeapModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h heap
		var model []*Handle
		check := func() {
			if len(h) != len(model) {
				t.Fatalf("%d handles, want %d", len(h), len(model))
			}
			for i, x := range h {
				if x.pos != i {
					t.Fatalf("handle at %d thinks it is at %d", i, x.pos)
				}
				if i > 0 && h[(i-1)/2].at > x.at {
					t.Fatalf("heap order is broken at %d", i)
				}
			}
			if len(h) == 0 {
				return
			}
			first := slices.MinFunc(model, func(a, b *Handle) int { return int(a.at - b.at) })
			if h[0].at != first.at {
				t.Fatalf("earliest is %d, want %d", h[0].at, first.at)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				x := &Handle{at: mono.Time(rapid.IntRange(1, 50).Draw(t, "at")), pos: -1}
				h.push(x)
				model = append(model, x)
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				x := model[i]
				h.remove(x)
				if x.pos != -1 {
					t.Fatalf("removed handle thinks it is at %d", x.pos)
				}
				model = slices.Delete(model, i, i+1)
			},
			"": func(*rapid.T) { check() },
		})
	})
}

// TestDeadlineModel sets, moves and cancels deadlines of an engine and compares what expires, and when.
func TestDeadlineModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Engine{auto: true} // polled: no goroutine, no timer
		now := mono.Time(1)
		type timer struct {
			h     *Handle
			at    mono.Time
			fired int
		}
		var timers []*timer
		t.Repeat(map[string]func(*rapid.T){
			"after": func(t *rapid.T) {
				x := &timer{at: now + mono.Time(rapid.IntRange(0, 20).Draw(t, "in"))}
				x.h = e.After(x.at, func(at mono.Time) {
					if at < x.at || x.at == 0 {
						t.Fatalf("fired at %d, deadline %d", at, x.at)
					}
					x.fired++
					x.at = 0
				})
				timers = append(timers, x)
			},
			"move": func(t *rapid.T) {
				if len(timers) == 0 {
					return
				}
				x := rapid.SampledFrom(timers).Draw(t, "which")
				x.at = now + mono.Time(rapid.IntRange(0, 20).Draw(t, "in"))
				x.h.SetDeadline(x.at)
			},
			"cancel": func(t *rapid.T) {
				if len(timers) == 0 {
					return
				}
				x := rapid.SampledFrom(timers).Draw(t, "which")
				x.at = 0
				x.h.Remove()
			},
			"advance": func(t *rapid.T) {
				now += mono.Time(rapid.IntRange(1, 10).Draw(t, "by"))
				e.expire(now)
			},
			"": func(t *rapid.T) {
				for _, x := range timers {
					if x.at != 0 && x.h.at != x.at {
						t.Fatalf("deadline is %d, want %d", x.h.at, x.at)
					}
					if x.at == 0 && x.h.pos != -1 {
						t.Fatal("a timer without deadline is in the heap")
					}
				}
				if len(e.timers) > 0 && e.timers[0].at <= now-10 {
					t.Fatalf("%d overdue since %d", e.timers[0].at, now)
				}
			},
		})
	})
}

// TestExpireAgain: a source that asks for a time that has passed, again and again, does not keep the lock.
func TestExpireAgain(t *testing.T) {
	e := &Engine{auto: true}
	n := 0
	var h *Handle
	h = e.Timer(func(now mono.Time) {
		if n++; n == 1000 {
			t.Fatal("one look at the deadlines never ends")
		}
		h.SetDeadline(now)
	})
	h.SetDeadline(1)
	e.expire(2)
	if n != 1 || h.at != 2 {
		t.Errorf("expired %d times, and then at %d", n, h.at)
	}
}
