//go:build !linux || fabricbasic

// The portable calls under RecvFrom and SendTo.

package netx

import (
	"syscall"
)

func sysRecvFrom(fd FD, d *Datagram) (errno syscall.Errno) {
	d.N, d.Truncated, errno = recvFrom(fd, d.Buf, &d.From)
	d.Seg = 0
	return errno
}

func sysRecvPlain(fd FD, d *Datagram) syscall.Errno { return sysRecvFrom(fd, d) }

func sysSendTo(fd FD, to *SockAddr, b []byte) syscall.Errno {
	v := [1]iovec{}
	if len(b) == 0 {
		return sendTo(fd, to, nil)
	}
	v[0].Base = &b[0]
	v[0].SetLen(len(b))
	return sendTo(fd, to, v[:])
}

func sysSendToV(fd FD, to *SockAddr, v *IOV, seg int) syscall.Errno {
	if seg != 0 {
		return syscall.ENOTSUP
	}
	return sendTo(fd, to, v.vec)
}

// SetGRO makes the kernel deliver runs of equal datagrams of one sender in one receive (UDP_GRO). It returns
// syscall.ENOTSUP where the system cannot.
func SetGRO(FD, bool) error { return syscall.ENOTSUP }

// ProbeGSO returns nil if runs can be sent with one call (UDP_SEGMENT), otherwise the reason why not.
func ProbeGSO(FD) error { return syscall.ENOTSUP }

// Drops returns how many datagrams the socket has lost since it was opened, for lack of room in the receive buffer
// or because of a bad checksum. It returns syscall.ENOTSUP where the system does not report this.
func Drops(FD) (uint32, error) { return 0, syscall.ENOTSUP }

// Batches reports whether RecvBatch and SendBurst pass many datagrams with one call.
const Batches = false

type batchVecs struct{}

func (b *Batch) prepare() {}

// sysRecvBatch receives one datagram, as the system has no call for more.
func sysRecvBatch(fd FD, b *Batch) (int, syscall.Errno) {
	if err := sysRecvFrom(fd, &b.D[0]); err != 0 {
		return 0, err
	}
	return 1, 0
}

type burstVecs struct{}

func (b *Burst) prepare(int) {}

// sysSendBurst sends one datagram, as the system has no call for more.
func sysSendBurst(fd FD, to *SockAddr, b *Burst, most int) (int, syscall.Errno) {
	if most == 0 {
		return 0, 0
	}
	if errno := sendTo(fd, to, b.vec(b.head)); errno != 0 {
		return 0, errno
	}
	return 1, 0
}
