//go:build !fabricbasic

// The two ends of a Notifier: one eventfd.

package netx

import "golang.org/x/sys/unix"

// openSignal returns the end to poll and the end to write, non-blocking and close-on-exec.
func openSignal() (fd, write FD, err error) {
	n, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return NoFD, NoFD, err
	}
	return FD(n), FD(n), nil
}

// raiseSignal cannot fail: the counter overflows after 2^64-2 signals without a Reset, and a Notifier writes only
// one.
func raiseSignal(write FD) { sysCounterAdd(write) }

// lowerSignal takes all signals back. There may be none.
func lowerSignal(fd FD) { sysCounterTake(fd) }
