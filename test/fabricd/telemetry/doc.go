// Package telemetry tests what fabricd reports of working processes: every metric, on every stack, over an emulated
// fabric that loses frames. A real Prometheus (Debian's package prometheus) scrapes it.
//
// It needs root, /dev/net/tun and Prometheus. Without them its tests are skipped, or fail if GOFABRIC_PEERS is
// "required".
package telemetry
