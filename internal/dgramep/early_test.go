package dgramep

import (
	"bytes"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// TestEarlyModel compares the queue of early datagrams with a list of them.
func TestEarlyModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type one struct {
			from netip.AddrPort
			b    []byte
		}
		var q early
		var want []one
		used, dropped, next := 0, uint64(0), byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n := rapid.SampledFrom([]int{0, 1, 63, 1472, 4096, 65507}).Draw(t, "n")
				for range rapid.IntRange(1, 9).Draw(t, "times") {
					next++
					o := one{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, next}), uint16(next)),
						bytes.Repeat([]byte{next}, n)}
					if n > 2 {
						o.b[0], o.b[n-1] = 'a', 'z'
					}
					q.add(o.from, o.b)
					if used+n+(len(want)+1)*earlyCost > earlyBytes {
						dropped++
						continue
					}
					want, used = append(want, o), used+n
				}
			},
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 9).Draw(t, "times") {
					if len(want) == 0 {
						return
					}
					from, a, b := q.take()
					if o := want[0]; from != o.from || !bytes.Equal(append(bytes.Clone(a), b...), o.b) {
						t.Fatalf("%v, %d+%d bytes; want %v, %d", from, len(a), len(b), o.from, len(o.b))
					}
					used, want = used-len(want[0].b), want[1:]
				}
			},
			"": func(t *rapid.T) {
				if q.list.Len() != len(want) || q.used != used || q.dropped != dropped || len(q.data) > earlyBytes {
					t.Fatalf("%d datagrams, %d bytes, %d dropped, room %d; want %d, %d, %d", q.list.Len(), q.used,
						q.dropped, len(q.data), len(want), used, dropped)
				}
				if q.used == 0 && len(q.data) > earlyKeep {
					t.Fatalf("%d bytes kept for nothing", len(q.data))
				}
			},
		})
	})
}
