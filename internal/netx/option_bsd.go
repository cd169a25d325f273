//go:build darwin || freebsd

// Socket options that the BSDs share.

package netx

import "golang.org/x/sys/unix"

// setNoSigPipe makes a send on a dead connection fail with EPIPE and nothing more; a C program that loads us may not ignore SIGPIPE.
func setNoSigPipe(fd FD) error { return setInt(fd, unix.SOL_SOCKET, unix.SO_NOSIGPIPE, 1) }

// SetFragment says what becomes of datagrams that are longer than the path takes in one piece, on a socket of family: with on the system fragments them,
// without a send fails with EMSGSIZE and no router may fragment (ip(4), IP_DONTFRAG).
func SetFragment(fd FD, family int, on bool) error {
	if family == unix.AF_INET6 {
		return setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, flag(!on))
	}
	return setInt(fd, unix.IPPROTO_IP, unix.IP_DONTFRAG, flag(!on))
}
