//go:build !fabricbasic

package netx

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// ReportErrors makes the system report ICMP errors about datagrams that a socket sent. A later call on the socket
// then fails with the error, and ReadError returns the datagram's destination (ip(7), IP_RECVERR; ipv6(7)).
func ReportErrors(fd FD, family int) error {
	if family == unix.AF_INET6 {
		if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1); err != nil {
			return err
		}
		unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVERR, 1) // for IPv4 peers, if any
		return nil
	}
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVERR, 1)
}

// ReadError removes the oldest reported error. It returns the destination of the datagram, and the error. ok is
// false if there is none.
func ReadError(fd FD) (dest netip.AddrPort, errno unix.Errno, ok bool) {
	var oob [512]byte
	_, n, _, from, err := unix.Recvmsg(int(fd), nil, oob[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return netip.AddrPort{}, 0, false
	}
	switch a := from.(type) {
	case *unix.SockaddrInet4:
		dest = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		dest = netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	list, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return dest, 0, true
	}
	for _, m := range list {
		ip4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		ip6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if (ip4 || ip6) && len(m.Data) >= 4 {
			errno = unix.Errno(binary.NativeEndian.Uint32(m.Data)) // struct sock_extended_err begins with ee_errno
		}
	}
	return dest, errno, true
}
