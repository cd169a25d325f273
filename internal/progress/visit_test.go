package progress

import (
	"sync"
	"testing"
)

// TestVisit: a visitor's function runs at once if the lock is free, otherwise as the holder unlocks, and on a
// closed Engine, too.
func TestVisit(t *testing.T) {
	e := NewVirtual(false)
	n := 0
	e.Visit(func() { n++ })
	if n != 1 {
		t.Fatalf("%d visits", n)
	}
	e.Lock()
	in, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		e.Visit(func() { close(in) })
	}()
	for e.errand.Load()&errandVisit == 0 { // the visitor waits
	}
	select {
	case <-in:
		t.Error("a visit while the lock was held")
	default:
	}
	e.Unlock()
	select {
	case <-in:
	default:
		t.Error("Unlock has not let the visitor in")
	}
	<-done
	e.Close()
	e.Visit(func() { n++ })
	if n != 2 {
		t.Error("no visit after Close")
	}
}

// TestVisitors: the functions of many visitors run once each, under the lock, while callers hold the lock all the
// time.
func TestVisitors(t *testing.T) {
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
				e.Visit(func() { n++ })
			}
		})
	}
	guests.Wait()
	close(stop)
	callers.Wait()
	if n != 4*each {
		t.Errorf("%d visits of %d", n, 4*each)
	}
}
