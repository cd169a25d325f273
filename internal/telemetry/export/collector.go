package export

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/internal/telemetry"
)

// prefix is the prefix of all metric names.
const prefix = "gofabric_"

// labels are the labels of all metrics of a process.
var labels = []string{"process", "pid"}

// described is a metric of the table with its description for Prometheus.
type described struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	scale float64
	label bool
}

// descs has the metrics of the table by name.
var descs = func() map[string]described {
	m := map[string]described{}
	for i := range telemetry.Metrics {
		t := &telemetry.Metrics[i]
		d := described{kind: prometheus.GaugeValue, scale: 1, label: t.Label != ""}
		l := append(append([]string{}, labels...), "provider")
		if d.label {
			l = append(l, t.Label)
		}
		if t.Unit == "seconds" {
			d.scale = 1e-9
		}
		if t.Kind == telemetry.Counter {
			d.kind = prometheus.CounterValue
		}
		d.desc = prometheus.NewDesc(Name(t), t.Help, l, nil)
		m[t.Name] = d
	}
	return m
}()

// Name returns the Prometheus name of a metric of the table.
func Name(t *telemetry.Metric) string {
	n := prefix + t.Name
	if t.Unit != "" && t.Name != t.Unit && (len(n) < len(t.Unit)+1 || n[len(n)-len(t.Unit)-1:] != "_"+t.Unit) {
		n += "_" + t.Unit
	}
	if t.Kind == telemetry.Counter {
		n += "_total"
	}
	return n
}

// The metrics that are not in the table.
var (
	latencyDesc   = prometheus.NewDesc(prefix+"operation_seconds", "Time from post to completion of the first operation of a kind and one in 256 of the others, by kind", append(append([]string{}, labels...), "provider", "op"), nil)
	endpointsDesc = prometheus.NewDesc(prefix+"endpoints", "Open endpoints", labels, nil)
	startDesc     = prometheus.NewDesc(prefix+"process_start_time_seconds", "When the process loaded the library, in seconds since 1970", labels, nil)
	silentDesc    = prometheus.NewDesc(prefix+"process_silent_seconds", "Time for which the process has not answered; 0 if it answers", labels, nil)
	stallsDesc    = prometheus.NewDesc(prefix+"stalls", "Operations and objects that make no progress now, by kind", append(append([]string{}, labels...), "what"), nil)
	stalledDesc   = prometheus.NewDesc(prefix+"stalls_total", "Stalls that were found, by the kind of operation or object", append(append([]string{}, labels...), "what"), nil)
)

// collector is a prometheus.Collector.
type collector struct{ src func() []*telemetry.Process }

// New returns a collector of the processes that src returns at the time of a scrape.
func New(src func() []*telemetry.Process) prometheus.Collector { return collector{src} }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d.desc
	}
	for _, d := range []*prometheus.Desc{latencyDesc, endpointsDesc, startDesc, silentDesc, stallsDesc, stalledDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, p := range c.src() {
		collect(p, ch)
	}
}

func collect(p *telemetry.Process, ch chan<- prometheus.Metric) {
	who := []string{p.Name, strconv.Itoa(p.PID)}
	with := func(more ...string) []string { return append(append(make([]string, 0, 4), who...), more...) }
	gauge := func(d *prometheus.Desc, v float64, l []string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, l...)
	}
	gauge(startDesc, float64(p.Since.UnixMilli())/1e3, who)
	silent := 0.0
	if !p.Silent.IsZero() {
		silent = time.Since(p.Silent).Seconds()
	}
	gauge(silentDesc, silent, who)
	gauge(endpointsDesc, float64(len(p.Endpoints)+p.More), who)
	stalls := map[string]int{}
	for what := range p.Stalled {
		stalls[what] = 0
	}
	for i := range p.Stalls {
		stalls[p.Stalls[i].What]++
	}
	for what, n := range stalls {
		gauge(stallsDesc, float64(n), with(what))
		ch <- prometheus.MustNewConstMetric(stalledDesc, prometheus.CounterValue, float64(p.Stalled[what]), with(what)...)
	}
	for i := range p.Totals {
		t := &p.Totals[i]
		for name, v := range t.Counters {
			m, value := telemetry.MetricOf(name)
			if m == nil {
				continue
			}
			d := descs[m.Name]
			l := with(t.Provider)
			if d.label {
				l = append(l, value)
			}
			ch <- prometheus.MustNewConstMetric(d.desc, d.kind, float64(v)*d.scale, l...)
		}
		for op, h := range t.Histograms {
			if m, err := newHistogram(h, with(t.Provider, op)); err == nil {
				ch <- m
			}
		}
	}
}
