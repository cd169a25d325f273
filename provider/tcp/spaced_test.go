package tcp_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/duo"
)

// BenchmarkSpaced measures the delay of messages whose sender computes between posts and never reads a queue: the
// price of batching for an application that makes no passes. It posts bursts with a pause after each. The delays
// are those of the last message of a burst, which waits longest.
func BenchmarkSpaced(b *testing.B) {
	// Both ends spin. Without spare processors the domains' goroutines would never run, as they do in two
	// processes.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, burst := range []int{1, 4, 64} {
		for _, pause := range []time.Duration{10 * time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
			b.Run(fmt.Sprintf("burst=%d/pause=%v", burst, pause), func(b *testing.B) {
				x, y := pair(b, make([]byte, 64))
				in := make([]byte, 64)
				for range 256 {
					duo.Check(b, y.EP.Recv(in, 0, core.AddrUnspec, 0))
				}
				duo.Check(b, duo.Post(func() error { return x.EP.Inject(make([]byte, 16), x.Peer) }, x, y)) // connect
				duo.Check(b, duo.Until(x, y, 0, 1))
				duo.Check(b, y.EP.Recv(in, 0, core.AddrUnspec, 0))
				bursts := max(b.N, 200)
				start := time.Now()
				var delays []time.Duration
				var wg sync.WaitGroup
				wg.Go(func() { // the receiver polls
					for got := 0; got < bursts*burst; {
						n, err := y.Read()
						if err != nil {
							b.Error(err)
							return
						}
						for range n {
							if got++; got%burst == 0 {
								delays = append(delays, time.Since(start)-time.Duration(binary.LittleEndian.Uint64(in)))
							}
							if err := y.EP.Recv(in, 0, core.AddrUnspec, 0); err != nil {
								b.Error(err)
								return
							}
						}
					}
				})
				buf := make([]byte, 16)
				for range bursts {
					for range burst {
						binary.LittleEndian.PutUint64(buf, uint64(time.Since(start)))
						for x.EP.Inject(buf, x.Peer) == core.ErrAgain {
						}
					}
					for t := time.Now(); time.Since(t) < pause; { // computes
					}
				}
				wg.Wait()
				slices.Sort(delays)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(delays[len(delays)/2])/1e3, "p50-us")
				b.ReportMetric(float64(delays[len(delays)*99/100])/1e3, "p99-us")
			})
		}
	}
}
