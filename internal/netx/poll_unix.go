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

// watch is a descriptor and what to wait for.
func watch(fd FD, events int16) pollFD { return pollFD{Fd: int32(fd), Events: events} }

// sysPoll waits for ms milliseconds, for ever when negative, until one of fds is ready; n of them are.
func sysPoll(fds []pollFD, ms int) (n int, err error) { return unix.Poll(fds, ms) }
