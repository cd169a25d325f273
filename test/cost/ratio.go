package cost

import (
	"fmt"
	"math"
	"slices"
)

// ratios are times with the daemon, of those without, of pairs of blocks.
type ratios []float64

// confidence is of intervals, and allowed what the daemon may cost.
const (
	confidence = 0.95
	allowed    = 0.02
)

// interval returns the median, and bounds between which the median of all pairs that there could be lies with the confidence: the k-th lowest and the k-th
// highest of n pairs. It lies outside if fewer than k of n throws of a coin show the same side (sign test); nothing is assumed of how pairs are distributed.
func (r ratios) interval() (low, median, high float64, err error) {
	n := len(r)
	sorted := slices.Sorted(slices.Values(r))
	k, outside, chance := 0, 0.0, math.Exp2(-float64(n)) // chance of k heads
	for ; k < n; k++ {
		if outside += 2 * chance; outside > 1-confidence {
			break
		}
		chance *= float64(n-k) / float64(k+1)
	}
	if k == 0 {
		return 0, 0, 0, fmt.Errorf("%d pairs are too few", n)
	}
	return sorted[k-1], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-k], nil
}

// verdict says what an interval shows; it is bad if all of it is beyond what is allowed.
func verdict(low, high float64) (said string, bad bool) {
	switch {
	case low > 1+allowed:
		return "too much", true
	case high > 1+allowed:
		return "not certain: a quieter machine, or more pairs (GOFABRIC_COST_PAIRS), would tell", false
	}
	return "within what is allowed", false
}
