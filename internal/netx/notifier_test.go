package netx

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestNotifier(t *testing.T) {
	n, err := NewNotifier()
	must(t, err)
	fd := FD(n.FD())
	for range 3 {
		if readable(t, fd) {
			t.Fatal("readable before Signal")
		}
		n.Signal()
		n.Signal()
		if !readable(t, fd) {
			t.Fatal("not readable after Signal")
		}
		n.Reset()
		n.Reset()
	}
	must(t, n.Close())
	must(t, n.Close())
	n.Signal()
	n.Reset()
	if n.FD() != -1 {
		t.Error("a closed Notifier has a descriptor")
	}
}

// TestNotifierLosesNothing races Signal against Reset: a consumer that waits on the descriptor, resets, and then
// looks must see every item.
func TestNotifierLosesNothing(t *testing.T) {
	n, err := NewNotifier()
	must(t, err)
	defer n.Close()
	const producers, each = 3, 3000
	var made atomic.Int64
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for range each {
				made.Add(1)
				n.Signal()
			}
		})
	}
	deadline := time.Now().Add(patience)
	for seen := int64(0); seen < producers*each; {
		if k, err := sysPoll([]pollFD{watch(FD(n.FD()), pollIn)}, 1000); k == 0 && err == nil ||
			time.Now().After(deadline) {
			t.Fatalf("asleep with %d of %d items seen", seen, made.Load())
		}
		n.Reset()
		seen = made.Load()
	}
	wg.Wait()
}
