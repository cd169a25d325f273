// Datagrams to and from many peers over one socket: one system call each, no allocation on Linux.

package netx

import "syscall"

// MaxDatagram is the longest payload of a UDP datagram over IPv4, bytes, and the longest that this package sends or receives.
const MaxDatagram = 65507

// Datagram is a buffer for RecvFrom and what it received. It is reused for ever.
type Datagram struct {
	Buf       []byte   // where to receive; set by the caller
	From      SockAddr // who sent it
	N         int      // bytes received into Buf
	Seg       int      // not 0: Buf holds a run of datagrams of Seg bytes each, of which the last may be shorter (UDP_GRO)
	Truncated bool     // the datagram was longer than Buf; the rest is gone
	control   [8]uint64
}

// RecvFrom receives one datagram, or with SetGRO a run of datagrams of one sender. syscall.EAGAIN when there is none; syscall.EINVAL when d.Buf is empty.
// A datagram may be empty. It never waits.
func RecvFrom(fd FD, d *Datagram) (err syscall.Errno) {
	if len(d.Buf) == 0 {
		return syscall.EINVAL
	}
	for {
		if err = sysRecvFrom(fd, d); err != syscall.EINTR {
			return err
		}
	}
}

// RecvPlain is RecvFrom for a socket that never had SetGRO; it costs a fifth less.
func RecvPlain(fd FD, d *Datagram) (err syscall.Errno) {
	if len(d.Buf) == 0 {
		return syscall.EINVAL
	}
	for {
		if err = sysRecvPlain(fd, d); err != syscall.EINTR {
			return err
		}
	}
}

// SendTo sends b as one datagram. syscall.EAGAIN when the socket's buffer is full; syscall.EMSGSIZE when it is longer than the path allows (SetFragment) or any
// datagram may be. It never waits.
func SendTo(fd FD, to *SockAddr, b []byte) (err syscall.Errno) {
	for {
		if err = sysSendTo(fd, to, b); err != syscall.EINTR {
			return err
		}
	}
}

// SendToV sends the buffers of v, all of them, as one datagram, or, if seg is not 0, as a run of datagrams of seg bytes each, of which the last may be
// shorter (UDP_SEGMENT; see SegmentsMax). v is left as it is. Errors as SendTo, and what says that the system cannot send runs this way: syscall.EIO,
// EINVAL, EOPNOTSUPP, ENOTSUP; nothing was sent then.
func SendToV(fd FD, to *SockAddr, v *IOV, seg int) (err syscall.Errno) {
	for {
		if err = sysSendToV(fd, to, v, seg); err != syscall.EINTR {
			return err
		}
	}
}

// SegmentsMax is how many datagrams every Linux that knows UDP_SEGMENT takes in a run (UDP_MAX_SEGMENTS before 6.9).
const SegmentsMax = 64

// Batch receives many datagrams with one call where the system can (recvmmsg(2)). It is reused for ever.
type Batch struct {
	D    []Datagram // what RecvBatch received, in order; what it did not use keeps its Buf
	vecs batchVecs
}

// NewBatch returns a Batch for n datagrams with buffers of size bytes.
func NewBatch(n, size int) *Batch {
	b := &Batch{D: make([]Datagram, n)}
	mem := make([]byte, n*size)
	for i := range b.D {
		b.D[i].Buf = mem[i*size : (i+1)*size : (i+1)*size]
	}
	b.prepare()
	return b
}

// RecvBatch receives up to len(b.D) datagrams, or runs of them, that are there: n of them, at least one without an error. Errors as RecvFrom.
func RecvBatch(fd FD, b *Batch) (n int, err syscall.Errno) {
	for {
		if n, err = sysRecvBatch(fd, b); err != syscall.EINTR {
			return n, err
		}
	}
}
