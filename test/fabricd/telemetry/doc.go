// Package telemetry tests what fabricd tells of processes that work: every metric, on every stack, over an emulated fabric that loses frames, and as a real
// Prometheus (Debian's package prometheus) sees it.
//
// It needs root, /dev/net/tun and Prometheus. Without them its tests are skipped, or fail if GOFABRIC_PEERS is "required".
package telemetry
