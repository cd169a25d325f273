// Package engine holds the state machines of the reliable providers: a connection (Conn) and the receive side that
// connections share (RxContext). It does no I/O, knows no clock and starts no goroutine; the driver (package tcp, say)
// owns lock, sockets and queues, and the simulator drives the same code.
//
// # Rule of use
//
//	Submit    Conn.Submit; RxContext.PostMsg, PostTagged  the application posts
//	Receive   Conn.Target, Conn.Receive                   bytes came
//	Advance   Conn.Advance                                time passed
//	Poll      Conn.Pending, Conn.Transmitted              what to transmit next
//	Deadline  Conn.Deadline                               when to call Advance
//
// One change, then Pending until it is empty or the socket is full, then wait until Deadline. Completions and
// connection events are told through the Sink during the change; a Sink only takes note, it never calls back.
//
// A transport that must be able to repeat what it has sent takes bytes with Conn.Next instead of Pending, and calls
// Transmitted when the peer has acknowledged them.
//
// # Memory
//
// Payload travels between the stream and user memory without a copy when it is large: Pending lends slices of the
// user's buffers, and Target lends the rest of the buffer that the payload in progress belongs to, to receive into.
// Small payload is copied into chunks, where many messages leave with one system call. Chunks, operations and small
// unexpected messages come from the Pool, which a domain's connections share, so that an idle connection holds none.
//
// # Rooms
//
// Conn puts together machines that do not know it. Each file belongs to a room, and mentions nothing that a file of a
// room further down this list declares (internal/tidy checks it):
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
// A message that meets its receive late reaches its connection through the interface feeder, which Conn implements.
package engine
