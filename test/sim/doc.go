// Package sim runs many protocol engines in one goroutine and virtual time, from a seed that replays exactly, and checks from outside what they
// promise: each message delivered once, intact and in order; one completion per operation; no buffer lost; a deadline wherever the peer might never
// answer; and no stall that nobody could end.
//
//	go test ./test/sim                      a few hundred seeds
//	go test ./test/sim -seeds=10000         more of them
//	go test ./test/sim -seed=42 -v          one, with its trace
//
// The parts, so that other engines can join:
//
//	sched.go     event queue, time, randomness, trace and its hash
//	stream.go    the network: byte streams with bounded buffers, cut, coalesced, delayed, closed and reset (datagrams would stand beside it)
//	ledger.go    operations and what became of them: the checkers
//	order.go     the checker of matching order
//	features.go  what a run has and has not (swarm testing: each feature is wholly on or off)
//	tcpnode.go   drives tcp engines: a node is one endpoint with a connection to each other node
//	tcpside.go   one end of a connection: moves bytes between engine and stream, as package tcp does
//	workload.go  random operations
//	world.go     a run: work, settle, drain, tear down
package sim
