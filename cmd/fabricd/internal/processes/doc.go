// Package processes is the part of the daemon that knows the node's processes: those that have domains open register on stats.sock, are asked for their figures
// when somebody wants them (GET /v1/processes, GET /v1/stuck, GET /metrics), and by the watchdog every other second, all at once. What makes no progress is logged when it is first seen, and when it
// has gone.
//
// Nothing that a process says is taken on trust: who it is, the kernel says; names, lengths and numbers are bounded (check.go). A process that does not answer
// is shown as silent, and forgotten after a minute; if it lives it registers again.
package processes
