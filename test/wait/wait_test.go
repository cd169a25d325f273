package wait

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test that records the failure of a wait.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run runs a wait in a goroutine of its own. It returns the failure and how long the wait took.
func run(t *testing.T, wait func(t testing.TB)) (said string, took time.Duration) {
	t.Helper()
	f := &failing{TB: t}
	begin, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		wait(f)
	}()
	<-done
	return f.said, time.Since(begin)
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		for _, after := range []time.Duration{0, time.Millisecond, time.Minute} {
			said, took := run(t, func(t testing.TB) { Until(t, "later", func() bool { return time.Since(begin) >= after }) })
			if said != "" || took > after+pauseMax {
				t.Errorf("true after %v: %q after %v", after, said, took)
			}
			begin = time.Now()
		}
		said, took := run(t, func(t testing.TB) { Until(t, "the event", func() bool { return false }) })
		if said != "never: the event (within 2m0s)" || took < Limit || took > Limit+pauseMax {
			t.Errorf("%q after %v", said, took)
		}
	})
}

func TestPolling(t *testing.T) {
	n := 0
	said, _ := run(t, func(t testing.TB) { Polling(t, "later", func() bool { n++; return n == 1000 }) })
	if said != "" || n != 1000 {
		t.Errorf("%q after %d calls", said, n)
	}
	synctest.Test(t, func(t *testing.T) { // time passes only inside of is
		said, took := run(t, func(t testing.TB) {
			Polling(t, "the event", func() bool { time.Sleep(time.Second); return false })
		})
		if said != "never: the event (within 2m0s)" || took < Limit || took > Limit+2*time.Second {
			t.Errorf("%q after %v", said, took)
		}
	})
}

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		go func() { c <- 7 }()
		if v := For(t, "a number", c); v != 7 {
			t.Errorf("received %d", v)
		}
		said, took := run(t, func(t testing.TB) { For(t, "a number", c) })
		if said != "never: a number (within 2m0s)" || took != Limit {
			t.Errorf("%q after %v", said, took)
		}
		close(c)
		if v := For(t, "the end", c); v != 0 {
			t.Errorf("received %d from a closed channel", v)
		}
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if end, ok := Context(t).Deadline(); !ok || end.Sub(begin) != Limit || !End().Equal(end) {
			t.Errorf("the context ends %v from now", end.Sub(begin))
		}
	})
}
