package tcp

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// TestStrangers compares with a list that is searched: who is sent away is the oldest of the address with most, and no more than the rate come and go.
func TestStrangers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s strangers
	s.init(50)
	var all []*stranger // oldest first
	var gone []time.Duration
	now := time.Duration(0)
	forget := func(i int) { all = append(all[:i:i], all[i+1:]...) }
	for range 50_000 {
		now += time.Duration(rng.Int64N(int64(s.grace / 20)))
		recent := 0
		for _, at := range gone {
			if now-at < 50*time.Second/strangersRate {
				recent++
			}
		}
		if calm := s.calm(now); calm != (recent < s.rate) {
			t.Fatalf("%d have gone lately, of %d: calm %v", recent, s.rate, calm)
		}
		if room := s.room(); room != (len(all) < s.max) {
			t.Fatalf("%d wait: room %v", len(all), room)
		}
		if rng.IntN(3) > 0 && s.room() {
			a := netip.AddrFrom4([4]byte{10, 0, 0, byte(rng.ExpFloat64() * 3)})
			all = append(all, s.enter(nil, a, now))
			continue
		}
		if len(all) == 0 {
			if s.crowded() != nil {
				t.Fatal("somebody waits")
			}
			continue
		}
		count := map[netip.Prefix]int{}
		most := 0
		for _, x := range all {
			count[x.home.from]++
			most = max(most, count[x.home.from])
		}
		v := s.crowded()
		if count[v.home.from] != most {
			t.Fatalf("the address of who is sent away has %d, another one %d", count[v.home.from], most)
		}
		for _, x := range all {
			if x.home == v.home {
				if x != v {
					t.Fatal("it is not the oldest")
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
		x, good := all[i], rng.IntN(2) == 0
		if !good {
			gone = append(gone, now)
		}
		s.leave(x, good, now)
		forget(i)
	}
	for _, x := range all {
		s.leave(x, true, now)
	}
	if s.n != 0 || len(s.homes) != 0 || len(s.by) != 0 {
		t.Errorf("left over: %d, %d homes, %d lists", s.n, len(s.homes), len(s.by))
	}
	if s.calm(now + time.Second); len(s.spent) != 0 {
		t.Errorf("%d are remembered", len(s.spent))
	}
}

// TestStrangersHome: a host has as many addresses of IPv6 as it wants, and they count as one.
func TestStrangersHome(t *testing.T) {
	same := func(a, b string) bool { return homeOf(netip.MustParseAddr(a)) == homeOf(netip.MustParseAddr(b)) }
	if !same("2001:db8::1", "2001:db8::ffff:2") || same("2001:db8::1", "2001:db8:0:1::1") || same("10.0.0.1", "10.0.0.2") || !same("::ffff:10.0.0.1", "10.0.0.1") ||
		!same("fe80::1%1", "fe80::2%1") {
		t.Error("addresses that are one, or are not")
	}
}
