// Package engine has the state machines of the reliable providers: a connection (Conn), and the receive side that
// connections share (RxContext). It does no I/O, reads no clock and starts no goroutine. The driver (package tcp, for
// example) owns the lock, the sockets and the queues. The simulator drives the same code.
//
// # Use
//
//	the application posts     Conn.Submit; RxContext.PostMsg, PostTagged
//	bytes arrived             Conn.Target, Conn.Receive
//	a deadline has come       Conn.Advance, at Conn.Deadline
//	something to transmit     Conn.Pending, then Conn.Transmitted
//
// After each of the first three the driver takes bytes with Pending until there are none or the socket is full, then
// waits until Deadline. Completions and connection events are reported through the Sink during the call. A Sink takes
// notes and never calls back.
//
// A transport that must be able to send bytes again takes them with Conn.Next instead of Pending, and calls Transmitted
// when the peer has acknowledged them.
//
// # Memory
//
// Large payload moves between the stream and the application's memory without a copy: Pending returns slices of the
// application's buffers, and Target returns the rest of the buffer that the payload in progress belongs to. Small
// payload is copied into chunks, so that many messages leave with one system call. Chunks, operations and small
// unexpected messages come from the Pool that a domain's connections share. An idle connection holds none.
//
// # Rooms
//
// Conn puts together machines that do not know it. Each file belongs to a room, and uses nothing that a file of a room
// further down this list declares (internal/tidy checks it):
//
//	values:     errors.go completion.go memory.go atomicop.go send.go txop.go rxop.go
//	buffers:    buffers.go
//	out-queue:  chunks.go outqueue.go ahead.go coalesced.go
//	message:    message.go
//	receives:   rxcontext.go budget.go group.go peek.go rxend.go collqueue.go
//	parser:     payload.go inbound.go
//	rendezvous: rendezvous.go seal.go
//	cma:        cma.go
//	outofband:  outofband.go
//	matches:    matches.go
//	answers:    answers.go
//	verdicts:   verdicts.go
//	auth:       auth.go
//	goodbye:    goodbye.go
//	conn:       config.go conn.go stage.go
//	sending:    submit.go launch.go fence.go complete.go
//	closing:    close.go
//	receiving:  receive.go arrivals.go serve.go fetch.go ext.go handshake.go
//	driving:    transmit.go cancel.go adopt.go oldest.go
//
// A message that is matched late reaches its connection through the interface feeder, which Conn implements.
package engine
