package tcp

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// TestPending compares with a plain list. The victim is the oldest of the source with most connections, and no more
// fail than the rate allows.
func TestPending(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s pendingConns
	s.init(50)
	var all []*pendingConn // oldest first
	var gone []time.Duration
	now := time.Duration(0)
	forget := func(i int) { all = append(all[:i:i], all[i+1:]...) }
	for range 50_000 {
		now += time.Duration(rng.Int64N(int64(s.grace / 20)))
		recent := 0
		for _, at := range gone {
			if now-at < 50*time.Second/pendingRate {
				recent++
			}
		}
		if allowed := s.rateAllows(now); allowed != (recent < s.rate) {
			t.Fatalf("%d connections failed in the period, the rate is %d: allowed %v", recent, s.rate, allowed)
		}
		if room := s.room(); room != (len(all) < s.max) {
			t.Fatalf("%d connections are pending: room %v", len(all), room)
		}
		if rng.IntN(3) > 0 && s.room() {
			a := netip.AddrFrom4([4]byte{10, 0, 0, byte(rng.ExpFloat64() * 3)})
			all = append(all, s.add(nil, a, now))
			continue
		}
		if len(all) == 0 {
			if s.victim() != nil {
				t.Fatal("victim returns a connection though none is pending")
			}
			continue
		}
		count := map[netip.Prefix]int{}
		most := 0
		for _, x := range all {
			count[x.source.from]++
			most = max(most, count[x.source.from])
		}
		v := s.victim()
		if count[v.source.from] != most {
			t.Fatalf("the victim's source has %d connections, another source has %d", count[v.source.from], most)
		}
		for _, x := range all {
			if x.source == v.source {
				if x != v {
					t.Fatal("the victim is not the oldest of its source")
				}
				break
			}
		}
		i := rng.IntN(len(all))
		if rng.IntN(2) == 0 {
			for i = range all {
				if all[i] == v {
					break
				}
			}
		}
		x, valid := all[i], rng.IntN(2) == 0
		if !valid {
			gone = append(gone, now)
		}
		s.remove(x, valid, now)
		forget(i)
	}
	for _, x := range all {
		s.remove(x, true, now)
	}
	if s.n != 0 || len(s.sources) != 0 || len(s.bySize) != 0 {
		t.Errorf("left over: %d, %d sources, %d lists", s.n, len(s.sources), len(s.bySize))
	}
	if s.rateAllows(now + time.Second); len(s.failed) != 0 {
		t.Errorf("%d are remembered", len(s.failed))
	}
}

// TestPendingSource: all addresses of an IPv6 /64 network count as one source.
func TestPendingSource(t *testing.T) {
	same := func(a, b string) bool { return sourceOf(netip.MustParseAddr(a)) == sourceOf(netip.MustParseAddr(b)) }
	if !same("2001:db8::1", "2001:db8::ffff:2") || same("2001:db8::1", "2001:db8:0:1::1") || same("10.0.0.1", "10.0.0.2") || !same("::ffff:10.0.0.1", "10.0.0.1") ||
		!same("fe80::1%1", "fe80::2%1") {
		t.Error("two addresses of one source count as two, or two of different sources as one")
	}
}
