//go:build !fabricbasic

// Opening and accepting with both flags given in the call.

package netx

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

func socket(family, kind int) (FD, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return NoFD, err
	}
	return FD(fd), nil
}

// Accept takes one connection from a listening socket. The new socket is non-blocking and close-on-exec. Accept
// returns unix.EAGAIN when there is none. An error about the connection alone (unix.ECONNABORTED) leaves the
// listener as it is, and the caller calls again. unix.EMFILE and ENFILE leave the connection in the queue.
func Accept(fd FD) (FD, netip.AddrPort, error) {
	for {
		n, sa, err := syscall.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return NoFD, netip.AddrPort{}, err
		}
		return FD(n), fromSockaddr(sa), nil
	}
}
