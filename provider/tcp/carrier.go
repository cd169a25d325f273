package tcp

import (
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/shm"
	"syscall"
)

// carrier moves the bytes of one stream. There are four: a TCP connection, a local socket, shared memory, and a TCP
// connection with simulated faults. The stream does not depend on the kind of its carrier, and gets another one
// when it moves (move.go). A pass calls transmit or receive once for each system call, or copy, that it needs. All
// methods are called with the lock of the progress engine held.
type carrier interface {
	// transmit sends the beginning of first or, if first is nil, of list. It borrows both for the call, and returns
	// the number of bytes sent. syscall.EAGAIN: there is no room; after watch has asked for it, Source.Ready
	// reports when there is some. syscall.EPIPE, ECONNRESET and ETIMEDOUT: the peer takes no more bytes, but bytes
	// that it has sent can still be received. All other errors end the stream.
	transmit(first []byte, list [][]byte) (n int, errno syscall.Errno)
	// receive receives into target, unless that is nil, and then into head. n of 0 without an error means that the
	// peer has closed. more means that another call may find more. syscall.EAGAIN: there is nothing now.
	receive(target, head []byte) (n int, more bool, errno syscall.Errno)

	// register registers the carrier with the engine of bufs, so that the engine calls src. With connecting, Ready
	// reports the end of a connect.
	register(prog *progress.Engine, bufs *buffers, src progress.Source, connecting bool) (*progress.Handle, error)
	// detach is called after that registration has ended.
	detach()
	// watch selects the events to report to src: received bytes or the end of the stream, and room to transmit. If
	// the poller cannot see such a state, for instance bytes in shared memory, watch makes h ready at once.
	watch(receive, transmit bool) error
	// ready is called when the poller reports the carrier readable or writable. It returns the same for the stream.
	ready(in, out bool) (receive, transmit bool)
	// direct(true) means that from now on every pass calls receive without an event (progress.Director).
	direct(on bool)

	// connected is called when the poller reports the end of a connect. If up is false, the stream is not connected
	// yet, and Ready is called again.
	connected() (up bool, err error)
	// delivery returns the system's state of the bytes in both directions.
	delivery() delivery
	// socket returns the carrier's socket. It reports the end of the peer.
	socket() netx.FD
	// can returns the abilities of the carrier.
	can() abilities
	// String names the kind of carrier.
	String() string
	// close closes the carrier. With reset, the system may discard transmitted bytes.
	close(reset bool)
}

// abilities are the optional abilities of a carrier.
type abilities struct {
	// Messages may bypass the carrier: the receiver copies them out of the sender's memory (internal/cma).
	singleCopy bool
	moves      bool // a stream may move to another carrier
	// memory is where received bytes are. A polling pass need not call receive while it is empty. It is nil if only
	// a system call can tell.
	memory *shm.Rings
}

// delivery is the state of a carrier's bytes.
type delivery struct {
	unacknowledged uint64 // bytes transmitted, and not known to have arrived in the peer's system
	unread         int    // bytes that have arrived and were not received
	err            error  // the peer has closed or reset the connection
}

// newCarrier returns the carrier of a new TCP connection, with faults if the fabric has them.
func (b *buffers) newCarrier(fd netx.FD) carrier {
	if b.faults != nil {
		return newImpairedCarrier(b, fd)
	}
	return &tcpCarrier{socketCarrier: socketCarrier{fd: fd}}
}
