//go:build unix

package tcp_test

import (
	"syscall"
	"testing"

	"gofabric/core"
	"gofabric/test/duo"
)

// cpu returns the processor time of the process in ns. Unlike the clock, it excludes other load on the machine.
func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkWindow measures a window of small messages on one thread: the cost of both ends, with posts, completions
// and their share of the system calls.
func BenchmarkWindow(b *testing.B) {
	for _, bm := range []struct {
		name   string
		tagged bool
		window int
	}{{"msg/1", false, 1}, {"msg/64", false, 64}, {"tagged/64", true, 64}, {"msg/256", false, 256}} {
		b.Run(bm.name, func(b *testing.B) {
			x, y := pair(b, make([]byte, 4096))
			buf, in := make([]byte, 64), make([]byte, 64)
			window := func() {
				for range bm.window {
					var err error
					if bm.tagged {
						err = y.EP.TRecv(in, 0, core.AddrUnspec, 7, 0, 2)
					} else {
						err = y.EP.Recv(in, 0, core.AddrUnspec, 2)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				for range bm.window {
					for {
						var err error
						if bm.tagged {
							err = x.EP.TSend(buf, 0, x.Peer, 7, 1)
						} else {
							err = x.EP.Send(buf, 0, x.Peer, 1)
						}
						if err == nil {
							break
						}
						if err != core.ErrAgain {
							b.Fatal(err)
						}
						y.CQ.Read(nil)
					}
				}
				if err := duo.Until(x, y, bm.window, bm.window); err != nil {
					b.Fatal(err)
				}
			}
			for range 20 {
				window()
			}
			b.ReportAllocs()
			n, used := 0, cpu()
			for b.Loop() {
				window()
				n += bm.window
			}
			b.ReportMetric(float64(cpu()-used)/float64(n), "cpu-ns/msg")
		})
	}
}
