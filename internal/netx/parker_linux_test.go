//go:build !fabricbasic

package netx

import (
	"sync/atomic"
	"testing"
)

// TestParkerDisarmedLeavesRuntimeAlone counts how often the runtime's poller finds the Parker's epoll ready.
// Traffic on the sockets of a disarmed Poller must not make it ready, as another goroutine may be polling them.
func TestParkerDisarmedLeavesRuntimeAlone(t *testing.T) {
	cl, s := pair(t)
	k, p := newParker(t), newPoller(t)
	must(t, p.Add(s, In, 1))
	must(t, k.Attach(p))
	var looks atomic.Int32
	look := k.look
	k.look = func(fd uintptr) bool {
		looks.Add(1)
		return look(fd)
	}
	c := park(k)
	wantAsleep(t, c)
	before := looks.Load()
	buf := make([]byte, 16)
	for range 20 {
		sendAll(t, cl, []byte("x"))
		expect(t, p, patience, Event{1, In})
		Recv(s, buf)
	}
	wantAsleep(t, c)
	if n := looks.Load() - before; n != 0 || readable(t, k.outer) {
		t.Errorf("20 messages to a disarmed Poller woke the runtime %d times", n)
	}
	k.Wake()
	wantPark(t, c, WhyWake)
}
