package export

import (
	"errors"
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/internal/telemetry"
)

// histogram is a native histogram with a few classic buckets, for scrapers of the text format. M is the message that
// prometheus.Metric.Write fills. Only client_golang imports its package, so that M has no name here.
type histogram[M any] struct{ native, classic func(*M) error }

func newBoth[M any](native, classic func(*M) error) histogram[M] {
	return histogram[M]{native, classic}
}

// classicStep is the number of native buckets in one classic bucket: each classic bucket is four times as wide as the
// one before.
const classicStep = 2 << telemetry.Schema

// newHistogram returns the histogram of a process' latencies.
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
	return newBoth(native.Write, classic.Write), nil
}

// Desc implements prometheus.Metric.
func (h histogram[M]) Desc() *prometheus.Desc { return latencyDesc }

// Write implements prometheus.Metric.
func (h histogram[M]) Write(m *M) error {
	var c M
	if err := errors.Join(h.native(m), h.classic(&c)); err != nil {
		return err
	}
	buckets := func(m *M) reflect.Value {
		return reflect.ValueOf(m).Elem().FieldByName("Histogram").Elem().FieldByName("Bucket")
	}
	buckets(m).Set(buckets(&c))
	return nil
}
