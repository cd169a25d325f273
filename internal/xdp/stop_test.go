//go:build linux

package xdp

import (
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestStopIsOver: no packet arrives after Stop has returned, not even one that the kernel was processing.
func TestStopIsOver(t *testing.T) {
	a, b := places(t, 1, 1500)
	at, from := netip.AddrPortFrom(a.v4, 7001), netip.AddrPortFrom(b.v4, 7000)
	i, p := openPort(t, a, Config{Mode: Driver}, at) // the driver delivers packets in batches
	_, q := openPort(t, b, Config{Mode: Driver}, from)
	ended, done := atomic.Bool{}, make(chan struct{})
	t.Cleanup(func() { ended.Store(true); <-done })
	frame := packet(t, b, a, from, at, []byte("on and on"))
	go func() {
		defer close(done)
		for f := make([]Frame, 64); !ended.Load(); {
			n := q.Reserve(f)
			for k := range f[:n] {
				f[k].Data = f[k].Data[:copy(f[k].Data, frame)]
			}
			q.Submit(f[:n])
			q.Flush()
		}
	}()
	var f [64]Frame
	came := func() {
		for n := p.Receive(f[:]); n > 0; n = p.Receive(f[:]) {
			p.Release(f[:n])
		}
	}
	for range 40 {
		take(t, p, 1)
		came()
		must(t, p.Stop())
		had := arrived(i.queues[0])
		for end := time.Now().Add(300 * time.Microsecond); time.Now().Before(end); runtime.Gosched() {
			if n := arrived(i.queues[0]); n != had {
				t.Fatalf("%d packets came after Stop", n-had)
			}
		}
		came()
		must(t, p.Resume())
	}
}
