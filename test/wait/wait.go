// Package wait has the waits of tests for events outside of their own calls: in another goroutine, in the kernel, in
// another program.
//
// A wait ends with its event. Limit only turns a hang into a failure, and is so long that a busy machine does not
// reach it. Tests that are about time do not use this package: they take the time as an argument or run in a bubble of
// testing/synctest.
package wait

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// Limit is the longest time that a wait may take.
const Limit = 2 * time.Minute

// The pauses between two calls of Until's condition: none at first, then longer and longer ones.
const (
	spins    = 100
	pauseMin = 20 * time.Microsecond
	pauseMax = 5 * time.Millisecond
)

// Until waits for a condition without a channel: it calls is again and again until it returns true. what completes the
// text "never: ...". Until runs in the calling goroutine, so is may make progress (read a queue, say) and may fail the
// test.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for try, end, pause := 0, time.Now().Add(Limit), pauseMin; !is(); try++ {
		if time.Now().After(end) {
			t.Fatalf("never: %s (within %v)", what, Limit)
		}
		if try < spins {
			runtime.Gosched()
			continue
		}
		time.Sleep(pause)
		pause = min(pause*2, pauseMax)
	}
}

// Polling is Until for an application that polls. It does not pause between two calls of is, which makes passes. After
// a pause of a millisecond a domain's goroutine would take over, and the domain would behave differently.
func Polling(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(Limit); !is(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never: %s (within %v)", what, Limit)
		}
	}
}

// For receives from c, or notices that c is closed. what completes the text "never: ...".
func For[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	end := time.NewTimer(Limit)
	defer end.Stop()
	select {
	case v := <-c:
		return v
	case <-end.C:
		t.Fatalf("never: %s (within %v)", what, Limit)
		panic("not reached")
	}
}

// Context returns a context for calls that wait. It ends with the test, or when the call should have returned long
// ago.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	return ctx
}

// End returns the time at which a wait that begins now has failed, for deadlines of sockets.
func End() time.Time { return time.Now().Add(Limit) }
