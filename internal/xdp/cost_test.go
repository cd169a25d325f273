//go:build linux

package xdp

// This file measures what the program costs other traffic on its interface.

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

const (
	costRounds = 40
	costRound  = 10 * time.Millisecond
	costChunk  = 64 << 10
)

// BenchmarkOtherTraffic measures plain TCP over a cable, with the program attached and without it in turn. It
// measures processor time in one thread, from send(2) to the receive queue of the peer. The metrics are medians of
// the ratios with to without the program. The log has the quartiles.
//
//	go test -run - -bench OtherTraffic -v ./internal/xdp
func BenchmarkOtherTraffic(b *testing.B) {
	for _, mode := range []Mode{Generic, Driver} {
		for _, where := range []string{"receiver", "both"} {
			for _, single := range []bool{false, true} {
				b.Run(fmt.Sprintf("%v/%s/one frame %v", mode, where, single), func(b *testing.B) {
					l, r := places(b, 1, 0)
					programs := []attached{openAttached(b, r, Config{Mode: mode, NoMultiBuffer: single})}
					if where == "both" {
						programs = append(programs, openAttached(b, l, Config{Mode: mode, NoMultiBuffer: single}))
					}
					from, to := tcpPair(b, l, r)
					measureCost(b, programs, from, to)
				})
			}
		}
	}
}

// openAttached opens the interface of a place, with a port that receives no packets.
func openAttached(b *testing.B, h *place, c Config) attached {
	i, _ := openPort(b, h, c, netip.AddrPortFrom(h.v4, 7001))
	return attached{i, h}
}

// attached is an interface whose program is attached and detached in turn.
type attached struct {
	*Interface
	h *place
}

func (x attached) set(b *testing.B, on bool) {
	p := x.prog
	p.mu.Lock()
	if p.link != nil {
		p.link.Close()
		p.link = nil
	}
	p.mu.Unlock()
	if on {
		x.h.Enter()
		must(b, p.attach(x.index, x.mode))
	}
}

// measureCost measures with and without the programs in turn.
func measureCost(b *testing.B, programs []attached, from, to netx.FD) {
	var latency, rate, mess []float64
	buf := make([]byte, costChunk)
	for round := range costRounds + 1 {
		var hop, bytes, short [2]float64
		for k := range 2 {
			with := (round + k) % 2
			for _, x := range programs {
				x.set(b, with == 1)
			}
			tcpBulk(b, from, to, buf, costRound/4) // time for the program to change its form
			hop[with] = tcpHops(b, from, to, buf)
			bytes[with] = tcpBulk(b, from, to, buf, costRound)
			short[with] = tcpBulk(b, from, to, buf[:1400], costRound)
		}
		if round > 0 {
			latency, rate, mess = append(latency, hop[1]/hop[0]), append(rate, bytes[1]/bytes[0]),
				append(mess, short[1]/short[0])
		}
	}
	for _, m := range []struct {
		what string
		list []float64
	}{{"latency", latency}, {"64K-rate", rate}, {"1400-rate", mess}} {
		slices.Sort(m.list)
		n := len(m.list)
		b.ReportMetric(m.list[n/2], m.what)
		b.Logf("%s: %.2f (%.2f, %.2f) of %d rounds", m.what, m.list[n/2], m.list[n/4], m.list[3*n/4], n)
	}
	b.ReportMetric(0, "ns/op")
}

// tcpHops sends a byte back and forth, and returns ns per hop.
func tcpHops(b *testing.B, x, y netx.FD, buf []byte) float64 {
	began, n := worked(b), 0
	for ; worked(b)-began < costRound; n += 2 {
		tcpMove(b, x, y, buf[:1])
		tcpMove(b, y, x, buf[:1])
	}
	return float64(worked(b)-began) / float64(n)
}

// tcpBulk sends chunks in one direction, and returns bytes per ns.
func tcpBulk(b *testing.B, x, y netx.FD, chunk []byte, d time.Duration) float64 {
	began, n := worked(b), 0
	for ; worked(b)-began < d; n += len(chunk) {
		tcpMove(b, x, y, chunk)
	}
	return float64(n) / float64(worked(b)-began)
}

// worked returns the processor time of the calling thread, with the kernel's work for packets that it sends and that
// come over the cable. Other load on the machine is not in it.
func worked(b *testing.B) time.Duration {
	var ts unix.Timespec
	must(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts))
	return time.Duration(ts.Nano())
}

// tcpMove sends all of p, and receives it at the other end.
func tcpMove(b *testing.B, from, to netx.FD, p []byte) {
	sent, got := 0, 0
	for end := time.Now().Add(patience); got < len(p); {
		if sent < len(p) {
			n, err := unix.Write(int(from), p[sent:])
			if err != nil && err != unix.EAGAIN {
				b.Fatal(err)
			}
			sent += max(n, 0)
		}
		n, err := unix.Read(int(to), p[got:])
		if err != nil && err != unix.EAGAIN {
			b.Fatal(err)
		}
		if got += max(n, 0); got < len(p) && time.Now().After(end) {
			b.Fatalf("%d of %d bytes came", got, len(p))
		}
	}
}

// tcpPair connects two places.
func tcpPair(b *testing.B, l, r *place) (from, to netx.FD) {
	r.Enter()
	listener, err := netx.StreamSocket(unix.AF_INET)
	must(b, err)
	defer netx.Close(listener)
	must(b, netx.Bind(listener, netip.AddrPortFrom(r.v4, 0)))
	must(b, unix.Listen(int(listener), 1))
	at, err := netx.LocalAddr(listener)
	must(b, err)
	l.Enter()
	from, err = netx.StreamSocket(unix.AF_INET)
	must(b, err)
	b.Cleanup(func() { netx.Close(from) })
	if err := netx.Connect(from, at); err != nil && err != unix.EINPROGRESS {
		b.Fatal(err)
	}
	for end := time.Now().Add(patience); ; {
		fd, _, err := unix.Accept4(int(listener), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err == nil {
			to = netx.FD(fd)
			break
		}
		if time.Now().After(end) {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() { netx.Close(to) })
	must(b, netx.SetNoDelay(from, true))
	must(b, netx.SetNoDelay(to, true))
	return from, to
}
