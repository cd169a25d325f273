package udp

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"gofabric/core"
	"gofabric/internal/netx"
)

// sink counts received datagrams.
type sink struct {
	datagrams, bytes, calls int
	total                   atomic.Int64
	parts                   [1][]byte
}

func (s *sink) Received(_ netip.AddrPort, b []byte, seg int) {
	s.calls++
	s.bytes += len(b)
	s.datagrams++
	if seg > 0 && seg < len(b) {
		s.datagrams += (len(b)+seg-1)/seg - 1
	}
	s.total.Store(int64(s.bytes))
}

func (s *sink) Drained()   {}
func (s *sink) Writable()  {}
func (s *sink) Lost(error) {}

func benchPort(b *testing.B, d *domain) (*port, *sink) {
	s := &sink{}
	return portAt(b, d, netip.AddrPortFrom(loopback4, 0), s), s
}

// echo sends received datagrams back.
type echo struct {
	sink
	p *port
}

func (e *echo) Received(from netip.AddrPort, b []byte, _ int) {
	e.parts[0] = b
	e.p.Send(from, e.parts[:], 0)
}

// beside runs f repeatedly in a thread of its own until the returned function is called.
func beside(f func()) (stop func()) {
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		for !ended.Load() {
			f()
		}
		close(done)
	}()
	return func() { ended.Store(true); <-done }
}

// BenchmarkPortPingPong measures a round trip of 64 bytes between two ports in two threads. bare is the same
// without ports.
func BenchmarkPortPingPong(b *testing.B) {
	msg := make([]byte, 64)
	for _, name := range []string{"batches", "lists", "plain"} {
		b.Run(name, func(b *testing.B) {
			from, to := testDomain(b, variants[name]...), testDomain(b, variants[name]...)
			x, xs := benchPort(b, from)
			e := &echo{}
			e.p = portAt(b, to, netip.AddrPortFrom(loopback4, 0), e)
			defer beside(func() { to.prog.Lock(); to.prog.Pass(); to.prog.Unlock() })()
			parts := [][]byte{msg}
			b.ReportAllocs()
			for b.Loop() {
				n := xs.calls
				must(b, x.send(e.p.local, 0, parts...))
				for xs.calls == n {
					from.prog.Lock()
					from.prog.Pass()
					from.prog.Unlock()
				}
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		d := testDomain(b, variants["plain"]...)
		x, _ := benchPort(b, d)
		y, _ := benchPort(b, d)
		var tox, toy netx.SockAddr
		must(b, tox.Set(x.local, syscall.AF_INET, 0))
		must(b, toy.Set(y.local, syscall.AF_INET, 0))
		d.prog.Lock()
		defer d.prog.Unlock()
		back := netx.Datagram{Buf: make([]byte, 64)}
		defer beside(func() {
			if netx.RecvFrom(y.main.fd, &back) == 0 {
				netx.SendTo(y.main.fd, &tox, back.Buf[:back.N])
			}
		})()
		for b.Loop() {
			netx.SendTo(x.main.fd, &toy, msg)
			for netx.RecvFrom(x.main.fd, &d.in[0]) != 0 {
			}
		}
	})
}

// BenchmarkPortBulk sends and receives in one thread, so it measures the cost of a byte on both sides together.
func BenchmarkPortBulk(b *testing.B) {
	for _, c := range []struct{ total, seg int }{{65507, 0}, {32 << 10, 0}, {8972, 0}, {45 * 1448, 1448}, {45 * 1424, 1424}, {1448, 0}} {
		for _, name := range []string{"batches", "lists", "plain"} {
			if c.seg == 0 && name != "batches" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d by %d", name, c.total, c.seg), func(b *testing.B) {
				d := testDomain(b, variants[name]...)
				x, _ := benchPort(b, d)
				y, ys := benchPort(b, d)
				parts := [][]byte{make([]byte, c.total)}
				d.prog.Lock()
				defer d.prog.Unlock()
				b.SetBytes(int64(c.total))
				b.ReportAllocs()
				for b.Loop() {
					must(b, x.Send(y.local, parts, c.seg))
					for n := ys.bytes; ys.bytes < n+c.total; {
						y.Poll()
					}
				}
			})
		}
	}
}

// BenchmarkPortGather sends a run whose datagrams are a header and a payload each, in separate parts, as layers
// have them.
func BenchmarkPortGather(b *testing.B) {
	const count, header, payload = 45, 48, 1400
	for _, pieces := range []int{1, count, 2 * count} {
		b.Run(fmt.Sprint(pieces), func(b *testing.B) {
			d := testDomain(b)
			x, _ := benchPort(b, d)
			y, ys := benchPort(b, d)
			data := make([]byte, count*(header+payload))
			var parts [][]byte
			switch pieces {
			case 1:
				parts = [][]byte{data}
			case count:
				for i := range count {
					parts = append(parts, data[i*(header+payload):(i+1)*(header+payload)])
				}
			default:
				for i := range count {
					parts = append(parts, data[i*(header+payload):][:header], data[i*(header+payload)+header:][:payload])
				}
			}
			d.prog.Lock()
			defer d.prog.Unlock()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				must(b, x.Send(y.local, parts, header+payload))
				for n := ys.bytes; ys.bytes < n+len(data); {
					y.Poll()
				}
			}
		})
	}
}

// BenchmarkPortFlow has a sender and a receiver in two threads, and a window of bytes in flight between them.
func BenchmarkPortFlow(b *testing.B) {
	for _, c := range []struct{ total, seg int }{{65507, 0}, {32 << 10, 0}, {45 * 1448, 1448}, {22 * 1448, 1448}, {1448, 0}, {64, 0}} {
		for _, name := range []string{"batches", "lists", "plain"} {
			if c.seg == 0 && name != "plain" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d by %d", name, c.total, c.seg), func(b *testing.B) {
				from, to := testDomain(b, variants[name]...), testDomain(b, variants[name]...)
				x, _ := benchPort(b, from)
				y, ys := benchPort(b, to)
				stop := beside(func() {
					for range 100 {
						to.prog.Lock()
						to.prog.Pass()
						to.prog.Unlock()
					}
				})
				parts := [][]byte{make([]byte, c.total)}
				b.SetBytes(int64(c.total))
				sent := int64(0)
				window := int64(1 << 20)
				if c.total == 64 {
					window = 1 << 16
				}
				for b.Loop() {
					for sent-ys.total.Load() > window {
					}
					if err := x.send(y.local, c.seg, parts...); err != nil && err != core.ErrAgain {
						b.Fatal(err)
					}
					sent += int64(c.total)
				}
				stop()
				b.ReportMetric(float64(y.counts().Overflows), "lost")
				b.ReportMetric(float64(ys.datagrams)/float64(max(ys.calls, 1)), "per-call")
			})
		}
	}
}
