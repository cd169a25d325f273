package tcp

import (
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/shm"
	"syscall"
)

// carrier moves the bytes of one stream: over a TCP connection, a local socket or shared memory, or over a TCP connection that an imperfect network impairs. A
// stream does not ask which it has; it has another one after a move (move.go). A pass makes one call of transmit or receive for each system call, or copy, that
// it needs, and none besides. All methods are called with the lock of the progress engine held.
type carrier interface {
	// transmit sends the beginning of first or, if that is nil, of list, both of which are borrowed, and returns how many bytes that was. syscall.EAGAIN: there is
	// no room, and Source.Ready reports when there is some, once watch has asked for it. syscall.EPIPE, ECONNRESET and ETIMEDOUT: the peer takes nothing any more,
	// but what it sent before can be received still. All other errors end the stream.
	transmit(first []byte, list [][]byte) (n int, errno syscall.Errno)
	// receive receives into target, unless that is nil, and what follows into head. No bytes and no error: the peer has closed. more: another call may find
	// more. syscall.EAGAIN: there is nothing now.
	receive(target, head []byte) (n int, more bool, errno syscall.Errno)

	// register registers the carrier with the engine of bufs, so that src is told of it; connecting, if Ready is to report that a connect was answered.
	register(prog *progress.Engine, bufs *buffers, src progress.Source, connecting bool) (*progress.Handle, error)
	// detach is called when that registration has ended.
	detach()
	// watch says what src is to be told of: bytes that came, or the end, and room to transmit. What is there already, and the poller does not see, makes h
	// ready at once.
	watch(receive, transmit bool) error
	// ready is called when the poller reports the carrier readable or writable, and returns what that means for the stream.
	ready(in, out bool) (receive, transmit bool)
	// direct says whether from now on every pass calls receive, without having been told of anything (progress.Director).
	direct(on bool)

	// connected is called when the poller reports that a connect was answered. up is false as long as it was not, for the stream, and then Ready is called
	// again.
	connected() (up bool, err error)
	// delivery says what the system knows of the bytes that were transmitted and of those that came.
	delivery() delivery
	// socket is the socket that stands for the carrier: the peer's end shows there.
	socket() netx.FD
	// can says what the carrier is able to do.
	can() abilities
	// String names the kind of carrier.
	String() string
	// close closes the carrier; with reset, the system need not deliver anything that was transmitted.
	close(reset bool)
}

// abilities are those of a carrier.
type abilities struct {
	singleCopy bool // messages may be copied out of the sender's memory (internal/cma), past the carrier
	moves      bool // a stream may go on over another carrier
	// memory is where the bytes come, nil if it takes a system call to look: while it is empty, passes that poll need not call receive.
	memory *shm.Rings
}

// delivery is what has become of a carrier's bytes.
type delivery struct {
	unacknowledged uint64 // transmitted, and not known to have arrived in the peer's system, bytes
	unread         int    // that came and were not received
	err            error  // the peer has closed or reset the connection
}

// newCarrier is the carrier of a new TCP connection, whose abilities are those of the fabric's carriers.
func (b *buffers) newCarrier(fd netx.FD) carrier {
	if b.faults != nil {
		return newImpairedCarrier(b, fd)
	}
	return &tcpCarrier{socketCarrier: socketCarrier{fd: fd}}
}
