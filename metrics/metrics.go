// Package metrics exports a process' metrics to Prometheus. It is for programs that run without the daemon fabricd,
// which exports the same metrics for all processes of a node:
//
//	http.Handle("/metrics", metrics.Handler())
//
// or, in a registry of the program's own,
//
//	registry.MustRegister(metrics.Collector())
//
// Nothing is collected between scrapes. A scrape reads each open endpoint under its domain's lock, for some
// microseconds. The number of series is bounded by the providers in use; docs/metrics.md lists them. Latencies are
// native histograms, with classic buckets for scrapers of the text format.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/export"
)

// Collector returns a collector of this process' metrics.
func Collector() prometheus.Collector {
	return export.New(func() []*telemetry.Process { return []*telemetry.Process{telemetry.Collect()} })
}

// Handler serves the metrics of this process, and no others, in the format that the scraper asks for.
func Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(Collector())
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
