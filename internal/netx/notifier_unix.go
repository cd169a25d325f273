//go:build unix && (!linux || fabricbasic)

// The two ends of a Notifier: a pipe.

package netx

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// openSignal returns the end to poll and the end to write, non-blocking and close-on-exec.
func openSignal() (fd, write FD, err error) {
	var p [2]int
	syscall.ForkLock.RLock()
	if err = unix.Pipe(p[:]); err == nil {
		unix.CloseOnExec(p[0])
		unix.CloseOnExec(p[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return NoFD, NoFD, err
	}
	for _, end := range p {
		if err := unix.SetNonblock(end, true); err != nil {
			unix.Close(p[0])
			unix.Close(p[1])
			return NoFD, NoFD, err
		}
	}
	return FD(p[0]), FD(p[1]), nil
}

// raiseSignal ignores a full pipe, which is readable already.
func raiseSignal(write FD) {
	one := [1]byte{1}
	for {
		if _, err := unix.Write(int(write), one[:]); err != syscall.EINTR {
			return
		}
	}
}

// lowerSignal takes all signals back. There may be none.
func lowerSignal(fd FD) {
	var b [64]byte
	for {
		if n, err := unix.Read(int(fd), b[:]); err != syscall.EINTR && n < len(b) {
			return
		}
	}
}
