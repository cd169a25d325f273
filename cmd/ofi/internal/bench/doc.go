// Package bench measures provider stacks with two processes on one machine: latency, message rate, bandwidth,
// remote reads and writes.
//
// The measuring process starts the other one (the peer). They communicate over the peer's standard input and
// output, with a line of JSON for each message. For each stack both open an endpoint. For each measurement both
// prepare their buffers and run the same loop in its two roles. The loops follow those of fabtests
// (benchmark_shared.c), so that the figures of fi_*_pingpong, fi_*_bw and fi_rma_bw have the same meaning. A loop
// does not allocate, and does not read a clock for each message.
//
// The peer ends when its standard input ends. The measuring process kills it on every path, and every wait has a
// limit.
package bench
