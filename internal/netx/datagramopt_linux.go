// Options of datagram sockets on Linux.

package netx

import "golang.org/x/sys/unix"

const (
	forceSendBuf = unix.SO_SNDBUFFORCE
	forceRecvBuf = unix.SO_RCVBUFFORCE
)

// SetFragment sets whether a socket of the given family sends datagrams that are longer than the path takes in one
// piece. With on, the system fragments them. Otherwise such a send fails with unix.EMSGSIZE, and no router may
// fragment (ip(7) IP_MTU_DISCOVER).
func SetFragment(fd FD, family int, on bool) error {
	how := unix.IP_PMTUDISC_DO
	if on {
		how = unix.IP_PMTUDISC_DONT
	}
	if family == unix.AF_INET6 {
		if err := setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, how); err != nil {
			return err
		}
		setInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, how) // for IPv4 peers, if this socket serves them
		return nil
	}
	return setInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, how)
}

// PathMTU returns the size of the largest packet, with its headers, that reaches the connected peer in one piece,
// as far as the system knows.
func PathMTU(fd FD, family int) (int, error) {
	if family == unix.AF_INET6 {
		return unix.GetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU)
	}
	return unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU)
}
