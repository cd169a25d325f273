// Options of datagram sockets as Linux has them.

package netx

import "golang.org/x/sys/unix"

const (
	forceSendBuf = unix.SO_SNDBUFFORCE
	forceRecvBuf = unix.SO_RCVBUFFORCE
)

// SetFragment says what becomes of datagrams that are longer than the path takes in one piece, on a socket of family: with on the system fragments them,
// without a send fails with unix.EMSGSIZE and no router may fragment (ip(7) IP_MTU_DISCOVER).
func SetFragment(fd FD, family int, on bool) error {
	how := unix.IP_PMTUDISC_DO
	if on {
		how = unix.IP_PMTUDISC_DONT
	}
	if family == unix.AF_INET6 {
		if err := setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, how); err != nil {
			return err
		}
		setInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, how) // for IPv4 peers of this socket; it need not have any
		return nil
	}
	return setInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, how)
}

// PathMTU is the size of the largest packet, headers included, that goes in one piece to the peer that a socket of family is connected to, as far as the
// system knows.
func PathMTU(fd FD, family int) (int, error) {
	if family == unix.AF_INET6 {
		return unix.GetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU)
	}
	return unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU)
}
