//go:build darwin || freebsd

// Socket options that the BSDs share.

package netx

import "golang.org/x/sys/unix"

// setNoSigPipe makes a send on a closed connection fail with EPIPE and raise no SIGPIPE. A C program that loads
// this library may not ignore that signal.
func setNoSigPipe(fd FD) error { return setInt(fd, unix.SOL_SOCKET, unix.SO_NOSIGPIPE, 1) }

// SetFragment sets whether a socket of the given family sends datagrams that are longer than the path takes in one
// piece. With on, the system fragments them. Otherwise such a send fails with EMSGSIZE, and no router may fragment
// (ip(4), IP_DONTFRAG).
func SetFragment(fd FD, family int, on bool) error {
	if family == unix.AF_INET6 {
		return setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, flag(!on))
	}
	return setInt(fd, unix.IPPROTO_IP, unix.IP_DONTFRAG, flag(!on))
}
