package progress

import (
	"testing"

	"pgregory.net/rapid"

	"gofabric/internal/mono"
)

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
					if x.at != 0 && e.timers.Key(x.h.timer) != x.at {
						t.Fatalf("deadline is %d, want %d", e.timers.Key(x.h.timer), x.at)
					}
					if x.at == 0 && x.h.timer.In() {
						t.Fatal("a timer without deadline is in the heap")
					}
				}
				if e.timers.Len() > 0 && e.timers.MinKey() <= now-10 {
					t.Fatalf("%d overdue since %d", e.timers.MinKey(), now)
				}
			},
		})
	})
}

// TestExpireAgain: a source that sets a deadline in the past, again and again, does not keep the lock.
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
	if n != 1 || e.timers.Key(h.timer) != 2 {
		t.Errorf("expired %d times, and then at %d", n, e.timers.Key(h.timer))
	}
}
