// Package telemetry has the figures of a process' fabrics: a list of its open domains, the figures of each on
// request, and a goroutine that answers the node's fabricd.
//
// Domains enter the list when they open and leave it when they close. Otherwise this package is never on the path
// of an operation. Providers count in fields of their own, under the lock that an operation holds anyway. Collect
// takes that lock, for one endpoint at a time, and reads the fields. A lock that is not available is a stall, too.
//
// Stalls are found by comparison: if an operation was the oldest of its connection in the last observation and
// still is, it has waited at least since then (watch.go). So operations need no time stamps.
package telemetry
