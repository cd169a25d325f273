package bench

import (
	"math/bits"
	"time"
)

// Histogram counts durations from 1 ns to over a minute, in buckets whose width is 1/32 of their value. Add does
// not allocate.
type Histogram struct {
	buckets [64 * 32]uint32
	n       uint64
}

// subBits is the logarithm of the number of buckets per power of two.
const subBits = 5

func bucketOf(ns uint64) int {
	if ns < 1<<subBits {
		return int(ns)
	}
	shift := bits.Len64(ns) - 1 - subBits
	return (shift+1)<<subBits + int(ns>>shift)&(1<<subBits-1)
}

// lowOf returns the lower bound of a bucket.
func lowOf(b int) uint64 {
	if b < 1<<subBits {
		return uint64(b)
	}
	shift := b>>subBits - 1
	return (1<<subBits + uint64(b)&(1<<subBits-1)) << shift
}

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	h.buckets[bucketOf(uint64(max(d, 0)))]++
	h.n++
}

// Quantile returns the middle of the bucket that contains the quantile q (0 to 1) of the durations, 0 without any.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	want := uint64(q * float64(h.n))
	var seen uint64
	for i, c := range h.buckets {
		if seen += uint64(c); seen > want || seen == h.n {
			return time.Duration((lowOf(i) + lowOf(i+1)) / 2)
		}
	}
	return 0
}
