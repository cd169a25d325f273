package session

import (
	"bytes"
	"fmt"
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// faults are bad networks. Only gofabric peers get corruption: native relies on UDP's checksum to find it.
var faults = map[string]func(*world){
	"loss":    func(n *world) { n.Link.Loss = 0.05 },
	"dup":     func(n *world) { n.Link.Dup = 0.2 },
	"reorder": func(n *world) { n.Link.Reorder = 0.1 },
	"all":     func(n *world) { n.Link.Loss, n.Link.Dup, n.Link.Reorder = 0.1, 0.1, 0.1 },
}

// TestFaults sends messages, reads and writes in both directions over bad networks. Each must arrive once, intact
// and in order.
func TestFaults(t *testing.T) {
	for name, fault := range faults {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				eachMode(t, func(t *testing.T, n *world, a, b *node) {
					n.Uint64()
					for range seed {
						n.Uint64()
					}
					fault(n)
					if !a.e.cfg.Extensions || !b.e.cfg.Extensions {
						traffic(t, n, a, b)
						return
					}
					n.Link.Corrupt = 0.02
					traffic(t, n, a, b)
				})
			})
		}
	}
}

// traffic exchanges operations of all sizes and checks them.
func traffic(t *testing.T, n *world, a, b *node) {
	t.Helper()
	const rounds = 60
	size := func(i int) int { return []int{3, 64, 900, 1500, 4000, 20_000}[i%6] + i }
	bufs := map[*node][][]byte{}
	reads := map[*node][][]byte{}
	for _, d := range []*node{a, b} {
		other := a
		if d == a {
			other = b
		}
		copy(d.region, pattern(len(d.region), 9))
		for i := range rounds {
			buf := make([]byte, size(i))
			bufs[d] = append(bufs[d], buf)
			d.recv(buf, uint64(i))
		}
		for i := range rounds {
			s := msg(uint64(i), pattern(size(i), byte(i)))
			s.Ack = i%4 == 0
			d.post(other, s)
			if i%5 == 0 {
				d.post(other, rma(xengine.KindWrite, uint64(i), pattern(3000, byte(i)), 0))
				r := make([]byte, 5000)
				reads[d] = append(reads[d], r)
				d.post(other, rma(xengine.KindRead, uint64(i), r, 8000))
			}
		}
	}
	complete := func() bool {
		return a.count(xengine.KindRecv) == rounds && b.count(xengine.KindRecv) == rounds && a.count(xengine.KindSend) == rounds &&
			b.count(xengine.KindSend) == rounds && a.count(xengine.KindRead) == rounds/5 && b.count(xengine.KindRead) == rounds/5
	}
	if !n.run(100*second, complete) {
		t.Fatalf("after %d s: %d %d received; %v %v\n%+v\n%+v", n.Now/second, a.count(xengine.KindRecv), b.count(xengine.KindRecv), a.failed, b.failed, a.e.Stats, b.e.Stats)
	}
	for d, all := range bufs {
		next := uint64(0)
		for _, c := range d.done {
			if c.Err != nil {
				t.Errorf("%+v", c)
			}
			if c.Kind == xengine.KindRecv {
				if c.Ctx != next {
					t.Errorf("message %d arrived as %d", c.Ctx, next)
				}
				next++
			}
		}
		for i, buf := range all {
			if !bytes.Equal(buf, pattern(size(i), byte(i))) {
				t.Errorf("message %d is damaged", i)
			}
		}
		for _, r := range reads[d] {
			if !bytes.Equal(r, pattern(len(d.region), 9)[8000:13000]) {
				t.Error("the data of the read is damaged")
			}
		}
	}
	n.Link.Loss, n.Link.Dup, n.Link.Reorder, n.Link.Corrupt = 0, 0, 0, 0
	if !n.run(10*second, func() bool { return a.e.Flushed(true) && b.e.Flushed(true) }) {
		t.Error("a node has data left to send")
	}
}
