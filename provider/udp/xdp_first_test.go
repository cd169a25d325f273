//go:build linux && !fabricbasic

package udp

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/veth"
)

// BenchmarkXDPFirst measures the time from the choice of AF_XDP until a datagram bypasses the system's stack, at
// both ends of a veth pair at once. Threads wait in the kernel meanwhile. With -cpu 8 the result does not include
// the time until the runtime notices that.
func BenchmarkXDPFirst(b *testing.B) {
	x, y := veth.Pair(b, veth.Options{Net: 98})
	for _, to := range []core.Datapath{core.DatapathXDP, core.DatapathAuto} {
		for _, frags := range []string{"1", "0"} {
			b.Run(fmt.Sprintf("%v/frags=%s", to, frags), func(b *testing.B) { benchFirst(b, [2]*veth.Host{x, y}, to, frags) })
		}
	}
}

func benchFirst(b *testing.B, hosts [2]*veth.Host, to core.Datapath, frags string) {
	var d [2]*domain
	var p [2]*port
	runtime.LockOSThread()
	for i, h := range hosts {
		h.Enter()
		d[i] = testDomain(b, "XDP_FRAGS", frags)
		p[i], _ = testPort(b, d[i], h.V4)
	}
	var set, first [2][]float64 // milliseconds: until AF_XDP is set, and from then until the first datagram
	for b.Loop() {
		var all sync.WaitGroup
		for i, h := range hosts {
			all.Go(func() {
				runtime.LockOSThread()
				h.Enter()
				began := time.Now()
				if err := d[i].setLink(p[i], to); err != nil {
					b.Error(err)
					return
				}
				set[i] = append(set[i], float64(time.Since(began).Microseconds())/1000)
				for p[i].counts().BypassSent == 0 {
					p[i].send(p[1-i].local, 0, make([]byte, 8))
					time.Sleep(100 * time.Microsecond) // the kernel and the other end get the cores
					if time.Since(began) > patience {
						b.Errorf("no datagram bypasses the stack within %v", patience)
						return
					}
				}
				first[i] = append(first[i], float64(time.Since(began).Microseconds())/1000-set[i][len(set[i])-1])
			})
		}
		all.Wait()
		for i := range hosts {
			if err := d[i].setLink(p[i], core.DatapathSockets); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, f := range []struct {
		of   [2][]float64
		name string
	}{{set, "ms-set"}, {first, "ms-first"}} {
		all := slices.Concat(f.of[0], f.of[1])
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], f.name)
		b.ReportMetric(all[len(all)*9/10], f.name+"-p90")
		b.ReportMetric(all[len(all)-1], f.name+"-max")
	}
}
