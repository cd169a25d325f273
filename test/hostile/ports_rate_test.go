//go:build linux

package hostile

// The rate of honest peers during an attack.

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"gofabric/test/conform"
	"gofabric/test/need"
)

// block is the length of one measurement of a rate.
const block = 250 * time.Millisecond

// TestListeningPortsRate prints the rate of honest peers while their port is attacked, divided by their rate while the
// port of an unrelated process is attacked. The attackers cost the machine the same in both cases. It asserts nothing.
// GOFABRIC_PORTS_PAIRS is the number of pairs of blocks for each line.
func TestListeningPortsRate(t *testing.T) {
	need.Asked(t, "it measures, and needs the machine for itself")
	pairs := 12
	if s := os.Getenv("GOFABRIC_PORTS_PAIRS"); s != "" {
		pairs = number(s)
	}
	for _, st := range portStacks(t) {
		t.Run(st.Name, func(t *testing.T) {
			for _, s := range attackKinds(st) {
				t.Run(s.name, func(t *testing.T) { compare(t, st, s, pairs) })
			}
		})
	}
}

// compare alternates measurements with the two targets of an attack.
func compare(t *testing.T, st conform.Stack, s attackKind, pairs int) {
	b := openAttackedPair(t, st)
	calm := b.rate(block)
	var ratios, rates []float64
	measure := func(decoy bool) float64 {
		b.begin(s, decoy)
		b.rate(2 * block)
		r := b.rate(block)
		b.end()
		return r
	}
	for i := range pairs {
		var here, there float64
		if i%2 == 0 { // the order changes with each pair
			here, there = measure(false), measure(true)
		} else {
			there, here = measure(true), measure(false)
		}
		ratios, rates = append(ratios, here/there), append(rates, there)
	}
	low, median, high := spread(ratios)
	_, usual, _ := spread(rates)
	t.Logf("RATE %-8s %-42s %.3f (%.3f to %.3f) of %.0f/s; %.0f/s without attackers", st.Name,
		s.name, median, low, high, usual, calm)
	b.Forget()
	b.attackers.HangUp()
	b.decoy.HangUp()
}

// spread returns the median, and bounds of the true median with a confidence of 95 % (sign test).
func spread(list []float64) (low, median, high float64) {
	n := len(list)
	sorted := slices.Sorted(slices.Values(list))
	k, outside, chance := 0, 0.0, math.Exp2(-float64(n))
	for ; k < n; k++ {
		if outside += 2 * chance; outside > 0.05 {
			break
		}
		chance *= float64(n-k) / float64(k+1)
	}
	k = max(k, 1)
	return sorted[k-1], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-k]
}
