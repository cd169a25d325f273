//go:build !linux || fabricbasic

// Opening and accepting, where flags are set after the call.

package netx

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

func socket(family, kind int) (FD, error) {
	// A fork between the two calls would leak the descriptor into the child; the lock keeps os/exec from it.
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return NoFD, err
	}
	return prepare(fd)
}

// Accept takes one connection off a listening socket; the new socket is non-blocking and close-on-exec. unix.EAGAIN when there is none. Errors
// that concern only the connection that was to be accepted (unix.ECONNABORTED) leave the listener as it is: call again. unix.EMFILE and ENFILE
// leave the connection in the queue.
func Accept(fd FD) (FD, netip.AddrPort, error) {
	for {
		// The listener is non-blocking, so the lock is held for no longer than the call.
		syscall.ForkLock.RLock()
		n, sa, err := unix.Accept(int(fd))
		if err == nil {
			unix.CloseOnExec(n)
		}
		syscall.ForkLock.RUnlock()
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return NoFD, netip.AddrPort{}, err
		}
		conn, err := prepare(n)
		return conn, fromSockaddr(sa), err
	}
}

// prepare makes a fresh socket non-blocking and free of SIGPIPE, or closes it.
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
