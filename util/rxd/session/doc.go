// Package session has the state machines of an rxd endpoint, between datagrams and operations: the peers of the
// endpoint, the handshake with each, and the transport of the ordered stream of operations (internal/xnet/engine,
// one Conn per peer).
//
// To a gofabric peer the stream travels as a flow (util/rxd/flow, "extension mode"). To a native peer a gateway
// translates it into packets of protocol version 2 and back, and repeats them as native does ("native mode").
//
// The engine does no I/O, reads no clock, takes no lock and starts no goroutine. The driver (package rxd) owns the
// lock, the port and the queues. Simulators drive the same code. docs/wire/rxd.md has the formats and rules.
//
// # Use
//
//	the application posts       Peer, then Submit of the peer's Conn, then Posted
//	a datagram arrived          Receive
//	a pass is over              PassDone
//	a deadline has come         Advance, at Deadline
//
// Call Poll until it returns false after each of these, then wait until Deadline. Times are nanoseconds of any
// clock that never goes back.
//
// Completions go to the Sink that Hooks.Sink returned for the peer. A Sink may call Posted, Resumed and Failed,
// which only take notes, but no other function of the engine.
//
// # Files
//
//	engine.go       the endpoint: peers, list of peers that have data, deadlines
//	peer.go         one peer and its states
//	handshake.go    RTS and CTS; extended.go and halfopen.go continue with each kind of peer
//	extended.go     gofabric peers; cookie.go, auth.go, challenges.go, fairness.go, reset.go belong to them
//	gateway.go      native peers: acknowledgements and retransmission
//	outgoing.go     stream to native packets
//	inbound.go      native packets to stream
//	pastpeer.go     native peers that were known before; revalidate.go, those that were replaced
//	absence.go      time in which this process did not run
//
// # Forged addresses
//
// Anyone can forge the address of a datagram. A gofabric peer uses no memory before it has proved with a cookie
// that it receives at its address. A native peer uses a small entry in a bounded table before it has sent something
// that only the receiver of our CTS can know.
package session
