package progress

// This file tests closing, concurrent use, and allocations.

import (
	"errors"
	"os"
	"testing"
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// TestClose ends the goroutine (see TestMain) and makes later calls harmless.
func TestClose(t *testing.T) {
	for _, auto := range []bool{true, false} {
		for _, waiting := range []bool{true, false} {
			e, err := New(auto)
			if err != nil {
				t.Fatal(err)
			}
			e.Lock()
			if waiting {
				e.EnterWait()
			}
			e.Unlock()
			if err := e.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			if err := e.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("second Close: %v", err)
			}
			e.Lock()
			e.Pass()
			e.FlushStaged()
			f := newFlusher()
			for range 3 {
				if !f.b.Posted(&e.batch, f, &batch.Limits{Copied: 1 << 10}, 1, false, false) {
					t.Error("a post to a closed engine waits")
				}
			}
			e.EnterWait()
			e.LeaveWait()
			if waiting {
				e.LeaveWait()
			}
			e.After(mono.Now(), func(mono.Time) { t.Error("a closed engine has timers") }).Remove()
			if _, err := e.Register(0, timerFunc{}, true, netx.In); err == nil {
				t.Error("a closed engine registers")
			}
			e.Wake()
			e.Unlock()
		}
	}
}

// TestRace uses everything from several goroutines, for the race detector.
func TestRace(t *testing.T) {
	e := newEngine(t, true)
	ps := []*probe{newProbe(t, e, true), newProbe(t, e, true), newProbe(t, e, false)}
	done := make(chan struct{})
	for i, p := range ps {
		go func() {
			defer func() { done <- struct{}{} }()
			f := newFlusher()
			for k := range 300 {
				p.write(1)
				e.Lock()
				switch (k + i) % 5 {
				case 0:
					e.Pass()
				case 1:
					e.EnterWait()
					e.Unlock()
					<-p.got
					e.Lock()
					e.LeaveWait()
				case 2:
					f.wait(e)
					f.b.Forget(&e.batch, f)
				case 3:
					p.h.SetDeadline(mono.Now().Add(time.Duration(k) * time.Microsecond))
				case 4:
					e.FlushStaged()
					p.h.SetDeadline(0)
				}
				e.Unlock()
				for len(p.expired) > 0 {
					<-p.expired
				}
			}
		}()
	}
	for range ps {
		<-done
	}
}

// TestAllocs checks that passes, staged flushes and deadlines allocate nothing.
func TestAllocs(t *testing.T) {
	if !netx.EdgeTriggered {
		t.Skip("the portable poller allocates")
	}
	for _, n := range []int{1, 10} {
		e := newEngine(t, false)
		var ps []*probe
		for range n {
			ps = append(ps, newProbe(t, e, true))
		}
		f := newFlusher()
		e.Lock()
		at := mono.Now().Add(time.Hour)
		ps[0].h.SetDeadline(at)
		allocs := testing.AllocsPerRun(200, func() {
			ps[0].write(1)
			f.wait(e)
			e.Pass()
			e.EnterWait()
			e.LeaveWait()
			ps[0].h.SetDeadline(at)
		})
		e.Unlock()
		if allocs != 0 {
			t.Errorf("%d streams: %v allocations per pass", n, allocs)
		}
	}
}
