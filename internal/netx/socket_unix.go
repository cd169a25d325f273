//go:build unix && (!linux || fabricbasic)

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
	if family == syscall.AF_INET6 {
		SetV6Only(FD(fd), false) // as Linux has it; FreeBSD keeps IPv4 off unless asked
	}
	return prepare(fd)
}

// Accept takes one connection off a listening socket; the new socket is non-blocking and close-on-exec. syscall.EAGAIN when there is none. Errors
// that concern only the connection that was to be accepted (syscall.ECONNABORTED) leave the listener as it is: call again. syscall.EMFILE and ENFILE
// leave the connection in the queue.
func Accept(fd FD) (FD, netip.AddrPort, error) {
	for {
		// The listener is non-blocking, so the lock is held for no longer than the call.
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
