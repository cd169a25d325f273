// Package sim simulates many protocol engines in one goroutine and virtual time. A seed determines a run and replays
// it exactly. Checkers outside of the engines verify what these promise: each message is delivered once, intact and in
// order; each operation has one completion; no buffer is lost; there is a deadline where the peer might never answer;
// and nothing stalls without a way to end the stall.
//
//	go test ./test/sim                      a few hundred seeds
//	go test ./test/sim -seeds=10000         more of them
//	go test ./test/sim -seed=42 -v          one, with its trace (-run Seeds, RxdSeeds or RxdNativeSeeds)
//	go test ./test/sim -messages=1000000    a long run of 16 rxd endpoints over a network that loses a third
//	go test ./test/sim -update              rewrites testdata/goodput.txt
//
// The files for tcp and for all:
//
//	network      event queue, time, randomness, trace and its hash; lost, repeated, reordered, damaged, late datagrams
//	stream.go    byte streams with bounded buffers, cut, coalesced, delayed, closed and reset
//	ledger.go    operations and their results: the checkers
//	order.go     the checker of matching order
//	features.go  the features of a run (swarm testing: each feature is wholly on or off)
//	tcpnode.go   drives tcp engines: a node is one endpoint with a connection to each other node
//	tcpside.go   one end of a connection: moves bytes between engine and stream, as package tcp does
//	app.go       the application at a node
//	workload.go  random operations
//	world.go     a run: work, settle, drain, tear down
//
// For rxd:
//
//	rxdfeatures.go  the features of a run
//	rxdnode.go      an endpoint between two restarts, driven as package rxd does it
//	rxdside.go      a node's state for a peer
//	rxdfault.go     partitions, restarts, pauses, applications that do not receive
//	rxdcheck.go     deadlines, memory, leaks, the end
//	rxdworld.go     a run: work with faults, drain, exchange messages again, tear down
//
// For rxm:
//
//	rxmworld.go  a run: pairs of gateways
//	rxmside.go   one end of a connection, driven as package rxm does it
//	rma          the connection below: messages, reads and writes
//	rxmlink.go   when its frames arrive: late, few at a time, or never
package sim
