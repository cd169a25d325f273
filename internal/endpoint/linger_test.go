package endpoint_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

// drainer is drained at two points in time: of the data, and of all. Never is 0.
type drainer struct {
	began     time.Time
	begun     int
	asked     int
	data, all time.Duration
}

func (d *drainer) BeginDrain() { d.begun++; d.began = time.Now() }
func (d *drainer) Drained(all bool) bool {
	d.asked++
	at := d.data
	if all {
		at = d.all
	}
	return at > 0 && time.Since(d.began) >= at-1 // a time of 1 is at once
}

// TestDrain: how long closing an endpoint waits, and what it returns.
func TestDrain(t *testing.T) {
	const never, now = 0, 1
	const s = time.Second
	for _, tt := range []struct {
		name      string
		linger    time.Duration
		data, all time.Duration
		min, max  time.Duration
		fails     bool
	}{
		{"drained", 10 * s, now, now, 0, 0, false},
		{"drained later", 10 * s, now, 3 * s / 10, 3 * s / 10, 3*s/10 + 2*time.Millisecond, false},
		{"drained late", 10 * s, 5 * s, 5 * s, 5 * s, 5*s + 2*time.Millisecond, false},
		{"the goodbye is not acknowledged", 10 * s, now, never, s, s + 2*time.Millisecond, false},
		{"the data late, the goodbye never", 10 * s, 4 * s, never, 4 * s, 4*s + 2*time.Millisecond, false},
		{"timed out", 3 * s, never, never, 3 * s, 3*s + 2*time.Millisecond, true},
		{"a short time", s / 10, now, never, s / 10, s/10 + 2*time.Millisecond, false},
		{"no time", 0, never, never, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, allCaps, 0)
				must(t, w.a.SetOpt(core.OptLinger, int(tt.linger/time.Millisecond)))
				d := &drainer{data: tt.data, all: tt.all}
				began := time.Now()
				var err error
				w.d.locked(func() { err = w.a.drv.Drain(d) })
				if took := time.Since(began); took < tt.min || took > tt.max {
					t.Errorf("it took %v, want %v to %v", took, tt.min, tt.max)
				}
				switch {
				case !tt.fails && err != nil:
					t.Error(err)
				case tt.fails && (!errors.Is(err, core.ErrTimedOut) || !strings.Contains(err.Error(), tt.linger.String()) || !strings.Contains(err.Error(), "OptLinger")):
					t.Errorf("%v, want FI_ETIMEDOUT, the time and the option", err)
				}
				if d.begun != 1 || tt.linger == 0 && d.asked > 0 {
					t.Errorf("BeginDrain was called %d times, Drained %d times", d.begun, d.asked)
				}
			})
		})
	}
}

// TestDrainUnlocks: others can take the lock while an endpoint waits, and passes are made for peers of the same
// thread.
func TestDrainUnlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, allCaps, 0)
		d := &drainer{}
		passes := uint64(0)
		go func() {
			time.Sleep(100 * time.Millisecond)
			w.d.locked(func() {
				passes = w.d.drv.Progress().Batch().Passes()
				d.data, d.all = 1, 1
			})
		}()
		began := time.Now()
		w.d.locked(func() { must(t, w.a.drv.Drain(d)) })
		if took := time.Since(began); took < 100*time.Millisecond || took > 102*time.Millisecond || passes < 50 {
			t.Errorf("it took %v and %d passes", took, passes)
		}
	})
}

// TestLingerDefault: the default is the provider's, until the application sets another one.
func TestLingerDefault(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	for _, set := range []int{-1, 0, 250} {
		want := set
		if set < 0 {
			want = 10000
		} else {
			must(t, w.a.SetOpt(core.OptLinger, set))
		}
		if got, err := w.a.GetOpt(core.OptLinger); got != want || err != nil {
			t.Errorf("%d, %v; want %d", got, err, want)
		}
	}
	if p := endpoint.LingerParam("x"); p.Provider != "x" || p.Name != "linger" || p.Type != core.ParamInt || p.Default != "10000" {
		t.Errorf("%+v", p)
	}
}
