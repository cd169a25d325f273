// Package export makes Prometheus metrics of the reports of processes. The numbers of processes and providers and
// the table telemetry.Metrics bound the number of metrics: endpoints and peers have no series of their own.
package export
