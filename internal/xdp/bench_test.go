//go:build linux

package xdp

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/xdp/frame"
)

// The benchmarks compare AF_XDP with UDP sockets over the same cable.

// end is one end of a benchmark. It sends n datagrams of a size, and receives those that have arrived.
type end interface {
	send(n int)
	receive() int
}

type xdpEnd struct {
	p     *Port
	h     frame.Header
	r     frame.Rules
	f     []Frame
	b     []byte
	alone []byte // buffer for packets by SendPacket; nil: packets go through the ring
}

func newXDPEnd(b *testing.B, src, dst *place, mode Mode, from, to netip.AddrPort, size int) *xdpEnd {
	_, p := openPort(b, src, Config{Mode: mode}, from)
	must(b, p.Watch(false))
	e := &xdpEnd{p: p, f: make([]Frame, 64), b: pattern(size, 3)}
	e.r.MAC, e.r.Unfinished = src.mac, true
	must(b, e.h.Init(&frame.Config{SrcMAC: src.mac, DstMAC: dst.mac, Src: from, Dst: to}))
	return e
}

func (e *xdpEnd) send(n int) {
	for ; n > 0 && e.alone != nil; n-- {
		if errno := e.p.SendPacket(e.alone[:e.h.Put(e.alone, e.b, 0)]); errno != 0 {
			panic(errno)
		}
	}
	for n > 0 {
		k := e.p.Reserve(e.f[:min(n, len(e.f))])
		for i := range e.f[:k] {
			e.f[i].Data = e.f[i].Data[:e.h.Put(e.f[i].Data, e.b, 0)]
		}
		if errno := e.p.Submit(e.f[:k]); errno != 0 {
			panic(errno)
		}
		if errno := e.p.Flush(); errno != 0 && errno != unix.EAGAIN {
			panic(errno)
		}
		n -= k
	}
}

func (e *xdpEnd) receive() (got int) {
	n := e.p.Receive(e.f)
	var d frame.Datagram
	for i := range e.f[:n] {
		if e.r.Parse(&d, e.f[i].Data) == frame.Accepted {
			got++
		}
	}
	if n > 0 {
		e.p.Release(e.f[:n])
	}
	return got
}

type socketEnd struct {
	fd netx.FD
	to netx.SockAddr
	b  []byte
	d  netx.Datagram
}

func newSocketEnd(b *testing.B, src *place, from, to netip.AddrPort, size int) *socketEnd {
	src.Enter()
	fd, err := netx.DatagramSocket(unix.AF_INET)
	must(b, err)
	b.Cleanup(func() { netx.Close(fd) })
	must(b, netx.Bind(fd, from))
	netx.GrowBuffers(fd, 4<<20, 4<<20)
	e := &socketEnd{fd: fd, b: pattern(size, 3)}
	must(b, e.to.Set(to, unix.AF_INET, 0))
	e.d.Buf = make([]byte, 1<<16)
	return e
}

func (e *socketEnd) send(n int) {
	for range n {
		if errno := netx.SendTo(e.fd, &e.to, e.b); errno != 0 && errno != unix.EAGAIN {
			panic(errno)
		}
	}
}

func (e *socketEnd) receive() (got int) {
	for netx.RecvFrom(e.fd, &e.d) == 0 {
		if got++; got == 64 {
			break
		}
	}
	return got
}

func ends(b *testing.B, kind string, size, mtu int) (x, y end) {
	l, r := places(b, 1, mtu)
	from, to := netip.AddrPortFrom(l.v4, 7001), netip.AddrPortFrom(r.v4, 7002)
	mode := Driver
	switch kind {
	case "sockets":
		return newSocketEnd(b, l, from, to, size), newSocketEnd(b, r, to, from, size)
	case "generic", "single":
		mode = Generic
	}
	u, v := newXDPEnd(b, l, r, mode, from, to, size), newXDPEnd(b, r, l, mode, to, from, size)
	if kind == "single" {
		for _, e := range []*xdpEnd{u, v} {
			if !e.p.HasPacketSocket() {
				b.Fatal("this interface has no packet socket")
			}
			e.alone = make([]byte, e.p.Interface().Chunk())
		}
	}
	return u, v
}

// kinds has the ways in which an end sends and receives: UDP sockets, or AF_XDP in one of its modes. "single"
// receives in generic mode, and sends with a packet socket.
var kinds = []string{"sockets", "driver", "generic", "single"}

// BenchmarkEcho is a ping-pong of 64 bytes between two threads that poll all the time. An operation is one direction.
func BenchmarkEcho(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			x, y := ends(b, kind, 64, 1500)
			var stop atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for !stop.Load() {
					if n := y.receive(); n > 0 {
						y.send(n)
					}
				}
			}()
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += 2 {
				x.send(1)
				for x.receive() == 0 {
				}
			}
			b.StopTimer()
			stop.Store(true)
			<-done
		})
	}
}

// threadTime returns the processor time of this thread, in nanoseconds, with the kernel's work for it. On a busy
// machine it is more exact than elapsed time.
func threadTime(b *testing.B) int64 {
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_THREAD, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkHandOver sends 64 bytes and receives them in the same thread. As nothing runs at the same time, it
// measures the cost of the calls and of the kernel.
func BenchmarkHandOver(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			x, y := ends(b, kind, 64, 1500)
			b.ReportAllocs()
			begin := threadTime(b)
			for b.Loop() {
				x.send(1)
				for y.receive() == 0 {
				}
			}
			b.ReportMetric(float64(threadTime(b)-begin)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkRate sends batches of datagrams in one direction.
func BenchmarkRate(b *testing.B) {
	for _, size := range []int{64, 1400} {
		for _, batch := range []int{1, 32} {
			for _, kind := range kinds {
				b.Run(fmt.Sprintf("%d/%d/%s", size, batch, kind), func(b *testing.B) {
					x, y := ends(b, kind, size, 1500)
					b.ReportAllocs()
					b.SetBytes(int64(size))
					lost, begin := 0, threadTime(b)
					b.ResetTimer()
					for sent := 0; sent < b.N; sent += batch {
						x.send(batch)
						got := 0
						for range 1000 {
							if got += y.receive(); got >= batch {
								break
							}
						}
						lost += batch - got
					}
					b.ReportMetric(float64(lost)/float64(b.N), "lost/op")
					b.ReportMetric(float64(threadTime(b)-begin)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}
