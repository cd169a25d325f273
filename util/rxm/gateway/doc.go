// Package gateway is the gateway between a Conn of internal/xnet/engine, to which an rxm endpoint posts, and a
// native rxm peer. In one direction it takes operations from the Conn's stream and makes packets, reads and writes
// of the connections below. In the other it turns the peer's packets into a stream that the Conn receives.
// Matching, budgets and completions are thus the same for native and gofabric peers.
//
//	message up to the eager limit    one packet                          stream.go, inbound.go
//	up to the SAR limit              segments                            stream.go, inbound.go
//	longer                           rendezvous: the receiver reads it,  rndvsend.go, rndvrecv.go
//	                                 or asks the sender to write it
//	read, write                      the connection's own operations     stream.go
//	atomic operation                 a packet, and one for the answer    atomic.go
//
// Messages of a rendezvous bypass the Conn's stream in both directions, so that others overtake them, as in native
// (internal/xnet/engine, Conn.SetFetcher).
//
// docs/wire/rxm.md has the protocol, which is native's (prov/rxm of libfabric).
//
// The package does no I/O, reads no clock and starts no goroutine. All calls are made under the lock of the domain.
package gateway
