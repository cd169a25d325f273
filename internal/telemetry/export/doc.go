// Package export makes Prometheus metrics of what processes tell of themselves. Their number is bounded by that of processes, providers and the table
// telemetry.Metrics: endpoints and peers have no series of their own.
package export
