// Package processes is the part of the daemon that watches the node's processes. A process with an open domain
// registers on stats.sock. The daemon asks for its counters when a client wants them (GET /v1/processes, GET
// /v1/stuck, GET /metrics); the watchdog asks every other second, all processes at once. Operations without
// progress are logged when they are first seen and when they are gone.
//
// A process' claims are not trusted. The kernel identifies the process; names, lengths and numbers are bounded
// (check.go). A process that does not answer is shown as silent and forgotten after a minute. If it is still
// running, it registers again.
package processes
