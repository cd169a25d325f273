package cost

import (
	"fmt"
	"math"
	"slices"
)

// ratios are times with the daemon divided by times without, one for each pair of blocks.
type ratios []float64

// confidence is that of intervals, and allowed is what the daemon may cost.
const (
	confidence = 0.95
	allowed    = 0.02
)

// interval returns the median of the pairs, and bounds between which the median of the distribution lies with the
// confidence. The bounds are the k-th lowest and the k-th highest of n pairs. The median lies outside if fewer than k
// of n throws of a coin show the same side (sign test). Nothing is assumed about the distribution.
func (r ratios) interval() (low, median, high float64, err error) {
	n := len(r)
	sorted := slices.Sorted(slices.Values(r))
	k, outside, chance := 0, 0.0, math.Exp2(-float64(n)) // chance: the probability of k heads
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

// verdict describes an interval. It is bad if the whole interval exceeds what is allowed.
func verdict(low, high float64) (said string, bad bool) {
	switch {
	case low > 1+allowed:
		return "too much", true
	case high > 1+allowed:
		return "not certain: repeat on a quieter machine, or with more pairs (GOFABRIC_COST_PAIRS)", false
	}
	return "within what is allowed", false
}
