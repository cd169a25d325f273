// Package bench measures provider stacks with two processes on one machine: latency, message rate, bandwidth, remote reads and writes.
//
// The measuring process starts the other one (the peer). They communicate over the peer's standard input and output, a line of JSON per message. For each
// stack both open an endpoint. For each measurement both prepare their buffers and run the same loop in its two roles. The loops follow those of fabtests
// (benchmark_shared.c), so the figures of fi_*_pingpong, fi_*_bw and fi_rma_bw have the same meaning. A loop neither allocates nor reads a clock per
// message.
//
// The peer ends when its standard input does. The measuring process kills it on every path, and every wait has a limit.
package bench
