package netx

import (
	"sync"
	"syscall"
	"testing"
	"time"
)

func newPoller(t testing.TB) *Poller {
	t.Helper()
	p, err := NewPoller()
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// expect waits up to d for exactly these events, in any order.
func expect(t testing.TB, p *Poller, d time.Duration, want ...Event) {
	t.Helper()
	evs := make([]Event, 16)
	n, err := p.Wait(evs, d)
	must(t, err)
	seen := map[Event]int{}
	for _, e := range evs[:n] {
		seen[e]++
	}
	for _, e := range want {
		seen[e]--
	}
	for e, k := range seen {
		if k != 0 {
			t.Fatalf("got %v, want %v; %v differs", evs[:n], want, e)
		}
	}
}

func TestPollerLevel(t *testing.T) {
	c, s := pair(t)
	p := newPoller(t)
	const token = 0xfedcba9876543210
	must(t, p.Add(s, In, token))
	if err := p.Add(s, In, token); err != syscall.EEXIST {
		t.Fatalf("a second Add: %v, want EEXIST", err)
	}
	expect(t, p, 0)
	sendAll(t, c, []byte("abc"))
	expect(t, p, patience, Event{token, In})
	expect(t, p, 0, Event{token, In}) // lasts until the data is read
	Recv(s, make([]byte, 16))
	expect(t, p, 0)
	must(t, p.Mod(s, In|Out, 5))
	expect(t, p, 0, Event{5, Out})
	must(t, p.Del(s))
	expect(t, p, 0)
	if err := p.Del(s); err != syscall.ENOENT {
		t.Fatalf("Del of a descriptor that is not watched: %v, want ENOENT", err)
	}
	if err := p.Mod(s, In, 1); err != syscall.ENOENT {
		t.Fatalf("Mod of a descriptor that is not watched: %v, want ENOENT", err)
	}
	if err := p.Add(NoFD, In, 1); err != syscall.EBADF {
		t.Fatalf("Add of no descriptor: %v, want EBADF", err)
	}
	if _, err := p.Wait(nil, 0); err != syscall.EINVAL {
		t.Fatalf("Wait into nothing: %v, want EINVAL", err)
	}
}

func TestPollerOneShot(t *testing.T) {
	c, s := pair(t)
	p := newPoller(t)
	must(t, p.Add(s, In|OneShot, 1))
	sendAll(t, c, []byte("abc"))
	expect(t, p, patience, Event{1, In})
	expect(t, p, 0)
	sendAll(t, c, []byte("def"))
	expect(t, p, 20*time.Millisecond)
	must(t, p.Mod(s, In|OneShot, 2))
	expect(t, p, patience, Event{2, In})
	expect(t, p, 0)
}

func TestPollerEdge(t *testing.T) {
	c, s := pair(t)
	p := newPoller(t)
	must(t, p.Add(s, In|Edge, 1))
	sendAll(t, c, []byte("abc"))
	expect(t, p, patience, Event{1, In})
	if EdgeTriggered {
		expect(t, p, 0)
	} else {
		expect(t, p, 0, Event{1, In})
	}
	sendAll(t, c, []byte("def"))
	expect(t, p, patience, Event{1, In})
}

func TestPollerHup(t *testing.T) {
	c, s := openPair(t)
	defer Close(s)
	p := newPoller(t)
	must(t, p.Add(s, In, 1))
	must(t, SetLinger(c, 0))
	must(t, Close(c))
	evs := make([]Event, 1)
	n, err := p.Wait(evs, patience)
	must(t, err)
	if n != 1 || evs[0].Events&Hup == 0 || evs[0].Events&In == 0 {
		t.Fatalf("after a reset: %v, want in and hup", evs[:n])
	}
}

func TestPollerTimeout(t *testing.T) {
	p := newPoller(t)
	began := time.Now()
	expect(t, p, 1500*time.Microsecond)
	if d := time.Since(began); d < 1500*time.Microsecond {
		t.Fatalf("a wait of 1.5 ms returned after %v", d)
	}
}

// TestPollerChangesDuringWait adds a ready descriptor while another thread sleeps in Wait.
func TestPollerChangesDuringWait(t *testing.T) {
	_, s := pair(t)
	p := newPoller(t)
	got := make(chan Event, 1)
	go func() {
		evs := make([]Event, 1)
		if n, err := p.Wait(evs, patience); n == 1 && err == nil {
			got <- evs[0]
		}
		close(got)
	}()
	time.Sleep(5 * time.Millisecond) // usually until it waits; the outcome does not depend on it
	must(t, p.Add(s, Out, 9))
	if e := <-got; e != (Event{9, Out}) {
		t.Fatalf("got %v", e)
	}
}

// TestPollerFair has more ready descriptors than room for events. Each must be reported in the end.
func TestPollerFair(t *testing.T) {
	p := newPoller(t)
	const many = 20
	for i := range many {
		n, err := NewNotifier()
		must(t, err)
		t.Cleanup(func() { n.Close() })
		n.Signal()
		must(t, p.Add(FD(n.FD()), In, uint64(i)))
	}
	seen := map[uint64]bool{}
	evs := make([]Event, 3)
	for range many {
		n, err := p.Wait(evs, 0)
		must(t, err)
		for _, e := range evs[:n] {
			seen[e.Token] = true
		}
	}
	if len(seen) != many {
		t.Fatalf("%d of %d descriptors were reported", len(seen), many)
	}
}

// TestPollerConcurrentWaits lets two goroutines wait on one Poller: each OneShot event goes to exactly one of them.
func TestPollerConcurrentWaits(t *testing.T) {
	p := newPoller(t)
	const many = 50
	var mu sync.Mutex
	seen := map[uint64]int{}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			evs := make([]Event, 4)
			for end := time.Now().Add(patience); time.Now().Before(end); {
				n, err := p.Wait(evs, 10*time.Millisecond)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, e := range evs[:n] {
					seen[e.Token]++
				}
				done := len(seen) == many
				mu.Unlock()
				if done {
					return
				}
			}
		})
	}
	for i := range many {
		n, err := NewNotifier()
		must(t, err)
		t.Cleanup(func() { n.Close() })
		n.Signal()
		must(t, p.Add(FD(n.FD()), In|OneShot, uint64(i)))
	}
	wg.Wait()
	for i := range uint64(many) {
		if seen[i] != 1 {
			t.Errorf("event %d was reported %d times", i, seen[i])
		}
	}
}

func TestPollerForgetsClosed(t *testing.T) {
	p := newPoller(t)
	fd, err := DatagramSocket(syscall.AF_INET)
	must(t, err)
	must(t, p.Add(fd, Out, 1))
	expect(t, p, 0, Event{1, Out})
	must(t, Close(fd))
	expect(t, p, 0)
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		(In | Hup).String(): "in|hup", Events(0).String(): "none",
		(Edge | OneShot | Out | Err).String(): "out|err|edge|oneshot",
		(WhyTimer | WhyWake).String():         "timer|wake", WhyPoller.String(): "poller",
		KindPointToPoint.String(): "point-to-point", IfaceKind(99).String(): "unknown",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
