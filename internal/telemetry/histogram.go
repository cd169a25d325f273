package telemetry

import (
	"math"
	"time"
)

// Schema is the resolution of histograms: each bucket is 2^(2^-Schema) times as wide as the one before, as in
// Prometheus' native histograms.
const Schema = 2

// FirstBucket and LastBucket are the first and last buckets in use: up to 1/4 microsecond, and over a minute.
const (
	FirstBucket = -22 << Schema
	LastBucket  = 6 << Schema
	buckets     = LastBucket - FirstBucket + 1
)

// Histogram has the durations of sampled operations. Bucket i counts those above 2^((i-1)/4) and up to 2^(i/4)
// seconds.
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

// Observe counts an operation of duration d.
func (l *Latency) Observe(d time.Duration) {
	d = max(d, 1)
	l.sum += d
	l.n[min(max(bucketOf(d), FirstBucket), LastBucket)-FirstBucket]++
}

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	return int(math.Ceil(math.Log2(d.Seconds()) * (1 << Schema)))
}

// Histogram returns the collected durations.
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

// Upper returns the upper bound in seconds of bucket i, in Prometheus' numbering, for a Histogram of this package.
func Upper(i int) float64 { return math.Exp2(float64(i) / (1 << Schema)) }
