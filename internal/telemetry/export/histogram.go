package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"gofabric/internal/telemetry"
)

// histogram is a native histogram with a few classic buckets beside it, for those who scrape text.
type histogram struct{ classic, native prometheus.Metric }

// classicStep is how many native buckets one classic bucket covers: four, for it to be twice as wide as the one before, times two.
const classicStep = 2 << telemetry.Schema

// newHistogram makes one of what a process timed.
func newHistogram(h telemetry.Histogram, labels []string) (prometheus.Metric, error) {
	positive, count := map[int]int64{}, uint64(0)
	cumulative := map[float64]uint64{}
	for i := telemetry.FirstBucket; i <= telemetry.LastBucket; i++ {
		if n := h.Buckets[i]; n > 0 {
			positive[i] = int64(n)
			count += n
		}
		if i%classicStep == 0 && i < telemetry.LastBucket {
			cumulative[telemetry.Upper(i)] = count
		}
	}
	classic, err := prometheus.NewConstHistogram(latencyDesc, count, h.Sum, cumulative, labels...)
	if err != nil {
		return nil, err
	}
	native, err := prometheus.NewConstNativeHistogram(latencyDesc, count, h.Sum, positive, nil, 0, telemetry.Schema, 0, time.Time{}, labels...)
	if err != nil {
		return nil, err
	}
	return histogram{classic, native}, nil
}

// Desc implements prometheus.Metric.
func (h histogram) Desc() *prometheus.Desc { return latencyDesc }

// Write implements prometheus.Metric.
func (h histogram) Write(m *dto.Metric) error {
	if err := h.native.Write(m); err != nil {
		return err
	}
	var c dto.Metric
	if err := h.classic.Write(&c); err != nil {
		return err
	}
	m.Histogram.Bucket = c.Histogram.Bucket
	return nil
}
