//go:build !linux || fabricbasic

// The portable calls below RecvFrom and SendTo.

package netx

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// SockAddr is a peer's address in the form that the kernel takes. The zero SockAddr is none.
type SockAddr struct{ sa unix.Sockaddr }

// Set makes a the address ap for a socket of family; scope is the interface that a link-local address belongs to (ZoneIndex), 0 for others. An IPv4
// address suits both families. unix.EAFNOSUPPORT when the address does not suit the family.
func (a *SockAddr) Set(ap netip.AddrPort, family int, scope uint32) error {
	ip := ap.Addr().Unmap()
	switch {
	case family == unix.AF_INET && ip.Is4():
		a.sa = &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ip.As4()}
	case family == unix.AF_INET6 && ip.IsValid():
		a.sa = &unix.SockaddrInet6{Port: int(ap.Port()), ZoneId: scope, Addr: ip.As16()}
	default:
		return unix.EAFNOSUPPORT
	}
	return nil
}

// AddrPort is the address, IPv4 where it is IPv4 mapped into IPv6, and its scope; it has no zone. The zero AddrPort if a is none.
func (a *SockAddr) AddrPort() (ap netip.AddrPort, scope uint32) {
	switch s := a.sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port)), 0
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), uint16(s.Port)), s.ZoneId
	}
	return netip.AddrPort{}, 0
}

func sysRecvFrom(fd FD, d *Datagram) unix.Errno {
	bufs := [1][]byte{d.Buf}
	n, _, flags, sa, err := unix.RecvmsgBuffers(int(fd), bufs[:], nil, unix.MSG_DONTWAIT)
	d.N, d.Seg, d.Truncated, d.From.sa = max(n, 0), 0, flags&unix.MSG_TRUNC != 0, sa
	_, errno := result(n, err)
	return errno
}

func sysRecvPlain(fd FD, d *Datagram) unix.Errno { return sysRecvFrom(fd, d) }

func sysSendTo(fd FD, to *SockAddr, b []byte) unix.Errno {
	bufs := [1][]byte{b}
	_, errno := result(unix.SendmsgBuffers(int(fd), bufs[:], nil, to.sa, sendFlags))
	return errno
}

func sysSendToV(fd FD, to *SockAddr, v *IOV, seg int) unix.Errno {
	if seg != 0 {
		return unix.ENOTSUP
	}
	_, errno := result(unix.SendmsgBuffers(int(fd), buffers(v.pending()), nil, to.sa, sendFlags))
	return errno
}

// SetGRO makes the kernel hand over runs of equal datagrams of one sender as one (UDP_GRO); unix.ENOTSUP where it cannot.
func SetGRO(FD, bool) error { return unix.ENOTSUP }

// ProbeGSO reports why runs cannot be sent with one call (UDP_SEGMENT), nil if they can.
func ProbeGSO(FD) error { return unix.ENOTSUP }

// Drops is how many datagrams the receive buffer had no room for since the socket was opened (or that had a bad checksum); unix.ENOTSUP where the system
// does not tell.
func Drops(FD) (uint32, error) { return 0, unix.ENOTSUP }

// Batches tells whether RecvBatch and SendBurst pass many datagrams with one call.
const Batches = false

type batchVecs struct{}

func (b *Batch) prepare() {}

// sysRecvBatch receives one: the system has no call for more.
func sysRecvBatch(fd FD, b *Batch) (int, unix.Errno) {
	if err := sysRecvFrom(fd, &b.D[0]); err != 0 {
		return 0, err
	}
	return 1, 0
}

type burstVecs struct{}

func (b *Burst) prepare(int) {}

// sysSendBurst sends one: the system has no call for more.
func sysSendBurst(fd FD, to *SockAddr, b *Burst, most int) (int, unix.Errno) {
	if most == 0 {
		return 0, 0
	}
	if _, errno := result(unix.SendmsgBuffers(int(fd), buffers(b.vec(b.head)), nil, to.sa, sendFlags)); errno != 0 {
		return 0, errno
	}
	return 1, 0
}
