// Package telemetry is what a process can tell of its fabrics: a list of its open domains, the figures that they give when somebody asks, and a goroutine that
// answers the node's fabricd.
//
// Domains enter the list when they open and leave it when they close; nothing else of this package is ever on an operation's way. Providers count in fields of
// their own, under the lock that an operation holds anyway; Collect takes that lock, one endpoint at a time, and reads. A lock that is not to be had is itself
// something to report.
//
// What makes no progress is found by comparing: an operation that was the oldest of its connection in the last observation and still is has waited at least
// since then (watch.go). So no operation needs a time of its own.
package telemetry
