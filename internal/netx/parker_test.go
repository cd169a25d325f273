package netx

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func newParker(t testing.TB) *Parker {
	t.Helper()
	k, err := NewParker()
	must(t, err)
	t.Cleanup(func() { must(t, k.Close()) })
	return k
}

type parked struct {
	why Why
	err error
}

// park calls Park in a goroutine, so that a test can continue and see whether it returned.
func park(k *Parker) <-chan parked {
	c := make(chan parked, 1)
	go func() {
		why, err := k.Park()
		c <- parked{why, err}
	}()
	return c
}

func wantPark(t testing.TB, c <-chan parked, want Why) {
	t.Helper()
	select {
	case p := <-c:
		if p.err != nil || p.why != want {
			t.Fatalf("Park = %v, %v; want %v", p.why, p.err, want)
		}
	case <-time.After(patience):
		t.Fatalf("Park did not return; want %v", want)
	}
}

// wantAsleep gives Park a little time to return wrongly.
func wantAsleep(t testing.TB, c <-chan parked) {
	t.Helper()
	select {
	case p := <-c:
		t.Fatalf("Park = %v, %v; want it to stay", p.why, p.err)
	case <-time.After(20 * time.Millisecond):
	}
}

func TestParkerTimer(t *testing.T) {
	k := newParker(t)
	const arm = 50 * time.Microsecond
	var late []time.Duration
	for range 200 {
		began := time.Now()
		must(t, k.SetTimer(arm))
		why, err := k.Park()
		took := time.Since(began)
		if err != nil || why != WhyTimer || took < arm {
			t.Fatalf("Park = %v, %v after %v", why, err, took)
		}
		late = append(late, took-arm)
	}
	slices.Sort(late)
	t.Logf("timers of %v came late by: median %v, 90%% %v, worst %v", arm, late[100], late[180], late[199])
	if late[100] > 20*time.Millisecond {
		t.Errorf("half of the timers came more than %v late", late[100])
	}
}

func TestParkerTimerReplacedAndCleared(t *testing.T) {
	k := newParker(t)
	c := park(k)
	must(t, k.SetTimer(time.Hour))
	wantAsleep(t, c)
	must(t, k.SetTimer(time.Millisecond)) // while it is parked
	wantPark(t, c, WhyTimer)

	must(t, k.SetTimer(time.Microsecond))
	time.Sleep(5 * time.Millisecond) // usually it has fired; if it fires later, clearing it is tested
	must(t, k.SetTimer(0))
	c = park(k)
	wantAsleep(t, c)
	must(t, k.SetTimer(-1))
	wantPark(t, c, WhyTimer)
	c = park(k)
	wantAsleep(t, c) // it fires once
	k.Wake()
	wantPark(t, c, WhyWake)
}

func TestParkerWake(t *testing.T) {
	k := newParker(t)
	c := park(k)
	wantAsleep(t, c)
	k.Wake()
	wantPark(t, c, WhyWake)
	k.Wake()
	k.Wake()
	wantPark(t, park(k), WhyWake)
	c = park(k)
	wantAsleep(t, c) // two Wakes are one
	k.Wake()
	wantPark(t, c, WhyWake)
}

func TestParkerSeveralReasons(t *testing.T) {
	cl, s := pair(t)
	k, p := newParker(t), newPoller(t)
	must(t, p.Add(s, In, 1))
	must(t, k.Attach(p))
	sendAll(t, cl, []byte("x"))
	must(t, k.ArmPoller(true))
	k.Wake()
	must(t, k.SetTimer(-1))
	var all Why
	for end := time.Now().Add(patience); all != WhyTimer|WhyPoller|WhyWake; {
		why, err := k.Park()
		must(t, err)
		if all&why != 0 || time.Now().After(end) {
			t.Fatalf("%v after %v", why, all)
		}
		all |= why
	}
}

func TestParkerPoller(t *testing.T) {
	cl, s := pair(t)
	k, p := newParker(t), newPoller(t)
	must(t, p.Add(s, In, 1))
	if err := k.ArmPoller(true); err != syscall.ENOENT {
		t.Fatalf("ArmPoller of none: %v, want ENOENT", err)
	}
	must(t, k.Attach(p))
	if err := k.Attach(p); err != syscall.EEXIST {
		t.Fatalf("a second Attach: %v, want EEXIST", err)
	}
	buf := make([]byte, 16)

	// The poller is disarmed: traffic does not end Park.
	c := park(k)
	for range 5 {
		sendAll(t, cl, []byte("x"))
		wait(t, s, In)
		Recv(s, buf)
	}
	sendAll(t, cl, []byte("x"))
	wait(t, s, In)
	wantAsleep(t, c)

	// The poller is armed while data waits: Park returns at once, and only once.
	must(t, k.ArmPoller(true))
	wantPark(t, c, WhyPoller)
	c = park(k)
	sendAll(t, cl, []byte("x"))
	wantAsleep(t, c)

	// The poller is armed without data: Park returns when data comes.
	for {
		if _, err := Recv(s, buf); err == syscall.EAGAIN {
			break
		}
	}
	must(t, k.ArmPoller(true))
	wantAsleep(t, c)
	sendAll(t, cl, []byte("x"))
	wantPark(t, c, WhyPoller)

	// The poller is armed and disarmed, before and after data has come.
	Recv(s, buf)
	must(t, k.ArmPoller(true))
	must(t, k.ArmPoller(false))
	c = park(k)
	sendAll(t, cl, []byte("x"))
	wantAsleep(t, c)
	k.Wake()
	wantPark(t, c, WhyWake)
	must(t, k.ArmPoller(true))
	time.Sleep(5 * time.Millisecond) // usually it has come; if it comes later, cancelling it is tested
	must(t, k.ArmPoller(false))
	c = park(k)
	wantAsleep(t, c)
	k.Wake()
	wantPark(t, c, WhyWake)
}

// TestParkerSocketAddedWhileArmed watches a socket that is added to the Poller after Park began.
func TestParkerSocketAddedWhileArmed(t *testing.T) {
	cl, s := pair(t)
	k, p := newParker(t), newPoller(t)
	must(t, k.Attach(p))
	must(t, k.ArmPoller(true))
	c := park(k)
	wantAsleep(t, c)
	must(t, p.Add(s, In, 1))
	sendAll(t, cl, []byte("x"))
	wantPark(t, c, WhyPoller)
	expect(t, p, 0, Event{1, In})
}

func TestParkerClose(t *testing.T) {
	k, err := NewParker()
	must(t, err)
	p := newPoller(t)
	must(t, k.Attach(p))
	must(t, k.ArmPoller(true))
	c := park(k)
	wantAsleep(t, c)
	must(t, k.Close())
	select {
	case got := <-c:
		if !errors.Is(got.err, os.ErrClosed) {
			t.Fatalf("Park = %v, %v; want os.ErrClosed", got.why, got.err)
		}
	case <-time.After(patience):
		t.Fatal("Close does not end Park")
	}
	must(t, k.Close())
	k.Wake()
	for name, err := range map[string]error{"SetTimer": k.SetTimer(1), "ArmPoller": k.ArmPoller(true),
		"Attach": k.Attach(p)} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if _, err := k.Park(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Park after Close: %v", err)
	}
}

func TestParkerOutlivesPoller(t *testing.T) {
	k := newParker(t)
	p, err := NewPoller()
	must(t, err)
	must(t, k.Attach(p))
	must(t, k.ArmPoller(true))
	c := park(k)
	wantAsleep(t, c)
	must(t, p.Close())
	if err := k.ArmPoller(true); err != syscall.ENOENT {
		t.Errorf("ArmPoller of a closed Poller: %v, want ENOENT", err)
	}
	wantAsleep(t, c)
	k.Wake()
	wantPark(t, c, WhyWake)
}

// TestParkersHoldNoThread parks many more goroutines than a test process has threads.
func TestParkersHoldNoThread(t *testing.T) {
	var parkers []*Parker
	var wg sync.WaitGroup
	for range 200 {
		k := newParker(t)
		parkers = append(parkers, k)
		wg.Go(func() { k.Park() })
	}
	time.Sleep(20 * time.Millisecond) // usually until all are parked; fewer would use fewer threads
	if n := threads(); n > 100 {
		t.Errorf("%d threads for 200 parked goroutines", n)
	}
	for _, k := range parkers {
		k.Wake()
	}
	wg.Wait()
}

// threads returns how many threads the process has, 0 where the system does not report it.
func threads() int {
	if runtime.GOOS != "linux" {
		return 0
	}
	list, _ := os.ReadDir("/proc/self/task")
	return len(list)
}

// TestParkerLosesNoWake races Wake against Park.
func TestParkerLosesNoWake(t *testing.T) {
	k := newParker(t)
	const each = 3000
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range each {
				made.Add(1)
				k.Wake()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for made.Load() < 2*each {
			if _, err := k.Park(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("asleep although %d items were made", made.Load())
	}
	wg.Wait()
}
