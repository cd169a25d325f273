package rxd_test

import (
	"testing"

	"gofabric/core"
	"gofabric/test/duo"
)

// BenchmarkPingPong measures the work of both ends for a message of 64 bytes in each direction, in one goroutine.
// Neither end waits, so the result is the work between a message and its answer. The datagrams go through memory.
// udp/dgram is the same without this layer.
func BenchmarkPingPong(b *testing.B) {
	for name, typ := range map[string]core.EPType{"udp": core.EPTypeDgram, "udp;ofi_rxd": core.EPTypeRDM} {
		b.Run(name, func(b *testing.B) {
			a, z := duo.Open(b, name, typ, make([]byte, 64)), duo.Open(b, name, typ, make([]byte, 64))
			duo.Know(b, a, z)
			duo.Know(b, z, a)
			out, in := make([]byte, 64), make([]byte, 64)
			hop := func(from, to *duo.Side) {
				err := to.EP.Recv(in, 0, core.AddrUnspec, 1)
				for err == nil || err == core.ErrAgain {
					if err = from.EP.Inject(out, from.Peer); err == nil {
						break
					}
				}
				for {
					n, err := to.CQ.Read(to.Got[:1])
					if n == 1 {
						return
					}
					if err != core.ErrAgain {
						b.Fatal(err)
					}
				}
			}
			for range 20000 { // until every pass reads both ports, and they share memory
				hop(a, z)
				hop(z, a)
			}
			b.ReportAllocs()
			for b.Loop() {
				hop(a, z)
				hop(z, a)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/hop")
		})
	}
}
