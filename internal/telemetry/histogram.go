package telemetry

import (
	"math"
	"time"
)

// Schema is the resolution of histograms: each bucket is 2^(2^-Schema) times as wide as the one before, as Prometheus' native histograms have it.
const Schema = 2

// FirstBucket and LastBucket bound the buckets that are kept: from 1/4 microsecond or less to a minute or more.
const (
	FirstBucket = -22 << Schema
	LastBucket  = 6 << Schema
	buckets     = LastBucket - FirstBucket + 1
)

// Histogram is how long sampled operations took. Bucket i holds those above 2^((i-1)/4) and up to 2^(i/4) seconds.
type Histogram struct {
	Schema  int            `json:"schema"`
	Count   uint64         `json:"count"`
	Sum     float64        `json:"sum"` // seconds
	Buckets map[int]uint64 `json:"buckets"`
}

// Add adds o, which must have the same Schema.
func (h *Histogram) Add(o Histogram) {
	if h.Buckets == nil {
		h.Schema, h.Buckets = o.Schema, map[int]uint64{}
	}
	h.Count += o.Count
	h.Sum += o.Sum
	for i, n := range o.Buckets {
		h.Buckets[i] += n
	}
}

// Latency collects a Histogram. It is guarded by its owner's lock.
type Latency struct {
	n   [buckets]uint32
	sum time.Duration
}

// Observe counts an operation that took d.
func (l *Latency) Observe(d time.Duration) {
	d = max(d, 1)
	l.sum += d
	l.n[min(max(bucketOf(d), FirstBucket), LastBucket)-FirstBucket]++
}

// bucketOf is the bucket of a duration.
func bucketOf(d time.Duration) int {
	return int(math.Ceil(math.Log2(d.Seconds()) * (1 << Schema)))
}

// Histogram is what was collected.
func (l *Latency) Histogram() Histogram {
	h := Histogram{Schema: Schema, Sum: l.sum.Seconds(), Buckets: map[int]uint64{}}
	for i, n := range l.n {
		if n > 0 {
			h.Count += uint64(n)
			h.Buckets[i+FirstBucket] = uint64(n)
		}
	}
	return h
}

// Upper is the upper bound of bucket i in seconds, i being what Prometheus numbers it, for a Histogram of this package.
func Upper(i int) float64 { return math.Exp2(float64(i) / (1 << Schema)) }
