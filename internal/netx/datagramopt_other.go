//go:build !linux

// Options of datagram sockets as macOS has them.

package netx

import "golang.org/x/sys/unix"

const (
	forceSendBuf = 0
	forceRecvBuf = 0
)

// SetFragment says what becomes of datagrams that are longer than the path takes in one piece, on a socket of family: with on the system fragments them,
// without a send fails with unix.EMSGSIZE and no router may fragment (ip(7) IP_MTU_DISCOVER).
func SetFragment(fd FD, family int, on bool) error {
	if family == unix.AF_INET6 {
		return setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, flag(!on))
	}
	return setInt(fd, unix.IPPROTO_IP, unix.IP_DONTFRAG, flag(!on))
}

// PathMTU is the size of the largest packet, headers included, that goes in one piece to the peer that a socket of family is connected to, as far as the
// system knows. Here it is the MTU of the interface, for the system does not tell more.
func PathMTU(fd FD, _ int) (int, error) {
	local, err := LocalAddr(fd)
	if err != nil {
		return 0, err
	}
	ifs, err := Interfaces()
	if err != nil {
		return 0, err
	}
	for _, i := range ifs {
		if i.Addr.WithZone("") == local.Addr().Unmap().WithZone("") {
			return i.MTU, nil
		}
	}
	return 0, unix.ENODEV
}
