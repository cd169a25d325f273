// Datagrams to and from many peers over one socket: one system call each, and no allocation on Linux.

package netx

import "syscall"

// MaxDatagram is the longest payload of a UDP datagram over IPv4, in bytes. It is the longest that this package
// sends or receives.
const MaxDatagram = 65507

// Datagram is a buffer for RecvFrom and the datagram that it received. It is reused without limit.
type Datagram struct {
	Buf       []byte   // receive buffer, set by the caller
	From      SockAddr // the sender
	N         int      // bytes received into Buf
	Seg       int      // if not 0, Buf holds a run of datagrams of Seg bytes; the last may be shorter (UDP_GRO)
	Truncated bool     // the datagram was longer than Buf, and the rest is lost
	control   [8]uint64
}

// RecvFrom receives one datagram, or, after SetGRO, a run of datagrams of one sender. A run is a GSO batch:
// equal-sized datagrams that pass the kernel in one call. A datagram may be empty. RecvFrom returns syscall.EAGAIN
// when there is no datagram, and syscall.EINVAL when d.Buf is empty. It never waits.
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

// RecvPlain is RecvFrom for a socket on which SetGRO was never called. It costs a fifth less.
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

// SendTo sends b as one datagram. It returns syscall.EAGAIN when the socket's buffer is full, and syscall.EMSGSIZE
// when b is longer than the path allows (SetFragment) or than any datagram may be. It never waits.
func SendTo(fd FD, to *SockAddr, b []byte) (err syscall.Errno) {
	for {
		if err = sysSendTo(fd, to, b); err != syscall.EINTR {
			return err
		}
	}
}

// SendToV sends all buffers of v as one datagram. If seg is not 0, it sends them as a run of datagrams of seg bytes
// each, the last of which may be shorter (UDP_SEGMENT; see SegmentsMax). v does not change. Errors are those of
// SendTo. In addition syscall.EIO, EINVAL, EOPNOTSUPP and ENOTSUP mean that the system cannot send runs this way.
// Nothing was sent then.
func SendToV(fd FD, to *SockAddr, v *IOV, seg int) (err syscall.Errno) {
	for {
		if err = sysSendToV(fd, to, v, seg); err != syscall.EINTR {
			return err
		}
	}
}

// SegmentsMax is the number of datagrams in a run that every Linux with UDP_SEGMENT accepts (UDP_MAX_SEGMENTS
// before 6.9).
const SegmentsMax = 64

// Batch receives many datagrams with one call where the system can (recvmmsg(2)). It is reused without limit.
type Batch struct {
	D    []Datagram // received by RecvBatch, in order; the elements that it did not use keep their Buf
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

// RecvBatch receives up to len(b.D) datagrams, or runs of them, that wait at the socket. n is how many it received,
// at least one without an error. Errors are those of RecvFrom.
func RecvBatch(fd FD, b *Batch) (n int, err syscall.Errno) {
	for {
		if n, err = sysRecvBatch(fd, b); err != syscall.EINTR {
			return n, err
		}
	}
}
