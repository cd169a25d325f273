//go:build linux && !fabricbasic

package udp

import "testing"

// TestXDPNoAllocations: datagrams pass without allocation, and runs as well if they go through AF_XDP, in both
// modes.
func TestXDPNoAllocations(t *testing.T) {
	a, b := places(t)
	for _, v := range [][]string{{"GSO", "0", "XDP_MODE", modeDriver}, {"GSO", "0", "XDP_MODE", modeGeneric}} {
		d, p, _, datapaths := xdpPair(t, a, b, v...)
		var s sink
		d.prog.Lock()
		p[1].r = &s
		d.prog.Unlock()
		parts := [][]byte{make([]byte, 64), make([]byte, 2000)}
		bytes, sent, rounds := 0, datapaths[0].sent, uint64(0)
		round := func() {
			rounds++
			d.prog.Lock()
			defer d.prog.Unlock()
			for i := range 40 {
				n := 1 + i%2
				bytes += 64 + 2000*(n-1)
				must(t, p[0].Send(p[1].local, parts[:n], 1000*(i%2)))
			}
			for s.bytes < bytes {
				d.prog.Pass()
			}
			p[1].Stats()
		}
		round()
		s.bytes, bytes = 0, 0 // datagrams that were in flight have arrived
		n := testing.AllocsPerRun(20, round)
		for range 4 { // of the whole process, which may receive events of the new interfaces
			if n != 0 {
				n = testing.AllocsPerRun(20, round)
			}
		}
		if n != 0 {
			t.Errorf("%v: %v allocations", v, n)
		}
		if n := datapaths[0].sent - sent; n != rounds*(20+20*3) {
			t.Errorf("%v: %d datagrams bypassed the stack: %v", v, n, datapaths[0])
		}
		d.prog.Lock()
		must(t, p[0].Close())
		must(t, p[1].Close())
		d.prog.Unlock()
	}
}
