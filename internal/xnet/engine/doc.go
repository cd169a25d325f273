// Package engine holds the state machines of the reliable providers: a connection (Conn) and the receive side that connections share (RxContext). It does
// no I/O, knows no clock and starts no goroutine; the driver (package tcp, say) owns lock, sockets and queues, and the simulator drives the same code.
//
// # Rule of use
//
//	Submit    Conn.Send, Read, Write; RxContext.Post      the application posts
//	Receive   Conn.Target, Conn.Receive                   bytes came
//	Advance   Conn.Advance                                time passed
//	Poll      Conn.Pending, Conn.Transmitted              what to transmit next
//	Deadline  Conn.Deadline                               when to call Advance
//
// One change, then Pending until it is empty or the socket is full, then wait until Deadline. Completions and connection events are told through
// the Sink during the change; a Sink only takes note, it never calls back.
//
// A transport that must be able to repeat what it has sent takes bytes with Conn.Next instead of Pending, and calls Transmitted when the peer has
// acknowledged them.
//
// # Memory
//
// Payload travels between the stream and user memory without a copy when it is large: Pending lends slices of the user's buffers, and Target lends
// the rest of the buffer that the payload in progress belongs to, to receive into. Small payload is copied into chunks, where many messages
// leave with one system call. Chunks, operations and small unexpected messages come from the Pool, which a domain's connections share, so that
// an idle connection holds none.
package engine
