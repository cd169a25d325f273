package progress

import (
	"sync"
	"testing"
)

// TestInspect: a function of Inspect runs at once if the lock is free, otherwise as the holder unlocks, and on a
// closed Engine, too.
func TestInspect(t *testing.T) {
	e := NewVirtual(false)
	n := 0
	e.Inspect(func() { n++ })
	if n != 1 {
		t.Fatalf("%d inspections", n)
	}
	e.Lock()
	in, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		e.Inspect(func() { close(in) })
	}()
	for e.pending.Load()&pendingInspect == 0 { // the inspection waits
	}
	select {
	case <-in:
		t.Error("an inspection while the lock was held")
	default:
	}
	e.Unlock()
	select {
	case <-in:
	default:
		t.Error("Unlock has not made the inspection")
	}
	<-done
	e.Close()
	e.Inspect(func() { n++ })
	if n != 2 {
		t.Error("no inspection after Close")
	}
}

// TestInspections: the functions of many inspections run once each, under the lock, while callers hold the lock all the
// time.
func TestInspections(t *testing.T) {
	e := NewVirtual(false)
	defer e.Close()
	n, stop := 0, make(chan struct{})
	var callers, guests sync.WaitGroup
	for range 2 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					e.Lock()
					e.Pass()
					e.Unlock()
				}
			}
		})
	}
	const each = 1000
	for range 4 {
		guests.Go(func() {
			for range each {
				e.Inspect(func() { n++ })
			}
		})
	}
	guests.Wait()
	close(stop)
	callers.Wait()
	if n != 4*each {
		t.Errorf("%d inspections of %d", n, 4*each)
	}
}
