//go:build unix && (!linux || fabricbasic)

// Opening and accepting with flags that are set after the call.

package netx

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

func socket(family, kind int) (FD, error) {
	// A fork between the two calls would leak the descriptor into the child. The lock makes os/exec wait.
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return NoFD, err
	}
	if family == syscall.AF_INET6 {
		SetV6Only(FD(fd), false) // the default on Linux; FreeBSD's default refuses IPv4
	}
	return prepare(fd)
}

// Accept takes one connection from a listening socket. The new socket is non-blocking and close-on-exec. Accept
// returns syscall.EAGAIN when there is none. An error about the connection alone (syscall.ECONNABORTED) leaves the
// listener as it is, and the caller calls again. syscall.EMFILE and ENFILE leave the connection in the queue.
func Accept(fd FD) (FD, netip.AddrPort, error) {
	for {
		// The listener is non-blocking, so the lock is held only for the duration of the call.
		syscall.ForkLock.RLock()
		n, sa, err := syscall.Accept(int(fd))
		if err == nil {
			unix.CloseOnExec(n)
		}
		syscall.ForkLock.RUnlock()
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return NoFD, netip.AddrPort{}, err
		}
		conn, err := prepare(n)
		return conn, fromSockaddr(sa), err
	}
}

// prepare makes a new socket non-blocking and free of SIGPIPE, or closes it.
func prepare(fd int) (FD, error) {
	err := unix.SetNonblock(fd, true)
	if err == nil {
		err = setNoSigPipe(FD(fd))
	}
	if err != nil {
		unix.Close(fd)
		return NoFD, err
	}
	return FD(fd), nil
}
