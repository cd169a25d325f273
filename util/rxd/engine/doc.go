// Package engine holds the state machines of rxd that stand between datagrams and operations: the peers of an endpoint, the handshake with each, and
// how the ordered stream of the operation engine (internal/xnet/engine, a Conn per peer) travels: to a native peer as packets of version 2, retransmitted
// as native does it (native mode), to a gofabric peer as a flow (util/rxd/flow, extension mode). It does no I/O, knows no clock, takes no lock and
// starts no goroutine; the driver (package rxd) owns the lock, the port and the queues, and simulators drive the same code.
//
// # Rule of use
//
//	Submit    Peer, then Submit of the peer's Conn, then Posted     the application posts
//	Receive   Receive                                              a datagram came
//	Advance   Advance, Quiet                                       time passed; nothing was found
//	Poll      Poll                                                 the next datagram to transmit
//	Deadline  Deadline                                             when to call Advance
//
// One change, then Poll until it is drained, then wait until Deadline. Times are nanoseconds of any steady clock. Completions go to the Sink that
// Hooks.Sink gave for the peer; a Sink only takes note, and so may call Posted, Resumed and Failed, which do no more, but nothing else.
//
// # What a stranger can do
//
// The address of a datagram may be forged. A gofabric peer costs no memory until it has proved with a cookie that it receives at its address, a native
// one a small entry in a bounded table until it has sent something that only the receiver of our CTS can know. docs/wire/rxd.md has the rules.
package engine
