// Package sim runs many protocol engines in one goroutine and virtual time, from a seed that replays exactly, and checks from outside what they
// promise: each message delivered once, intact and in order; one completion per operation; no buffer lost; a deadline wherever the peer might never
// answer; and no stall that nobody could end.
//
//	go test ./test/sim                      a few hundred seeds
//	go test ./test/sim -seeds=10000         more of them
//	go test ./test/sim -seed=42 -v          one, with its trace (-run Seeds, RxdSeeds or RxdNativeSeeds)
//	go test ./test/sim -messages=1000000    a long run of 16 rxd endpoints over a network that loses a third
//	go test ./test/sim -update              writes testdata/goodput.txt anew
//
// The parts, of tcp and of all:
//
//	network      event queue, time, randomness, trace and its hash; datagrams that are lost, repeated, reordered, damaged, late
//	stream.go    byte streams with bounded buffers, cut, coalesced, delayed, closed and reset
//	ledger.go    operations and what became of them: the checkers
//	order.go     the checker of matching order
//	features.go  what a run has and has not (swarm testing: each feature is wholly on or off)
//	tcpnode.go   drives tcp engines: a node is one endpoint with a connection to each other node
//	tcpside.go   one end of a connection: moves bytes between engine and stream, as package tcp does
//	app.go       the application at a node
//	workload.go  random operations
//	world.go     a run: work, settle, drain, tear down
//
// And of rxd:
//
//	rxdfeatures.go  what a run has
//	rxdnode.go      an endpoint in one of its lives, driven as package rxd does it
//	rxdside.go      what a node has of a peer
//	rxdfault.go     partitions, restarts, pauses, applications that do not receive
//	rxdcheck.go     deadlines, memory, leaks, the end
//	rxdworld.go     a run: work with faults, drain, speak again, tear down
//
// And of rxm:
//
//	rxmworld.go  a run: gateways that face each other
//	rxmside.go   one end of a connection, driven as package rxm does it
//	rma          the connection below: messages, reads and writes
//	rxmlink.go   when its frames arrive: late, few at a time, or never
package sim
