//go:build unix

// poll(2).

package netx

import "golang.org/x/sys/unix"

// pollFD is one descriptor for sysPoll.
type pollFD = unix.PollFd

const (
	pollIn      = unix.POLLIN
	pollOut     = unix.POLLOUT
	pollErr     = unix.POLLERR
	pollHup     = unix.POLLHUP
	pollInvalid = unix.POLLNVAL
)

// watch returns the entry for a descriptor and the events to wait for.
func watch(fd FD, events int16) pollFD { return pollFD{Fd: int32(fd), Events: events} }

// sysPoll waits until one of fds is ready, for at most ms milliseconds, without a limit if ms is negative. n is the
// number of ready descriptors.
func sysPoll(fds []pollFD, ms int) (n int, err error) { return unix.Poll(fds, ms) }
