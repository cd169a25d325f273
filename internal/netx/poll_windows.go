// WSAPoll.

package netx

// pollFD is one socket for sysPoll, a WSAPOLLFD.
type pollFD struct {
	Fd      uintptr
	Events  int16
	Revents int16
}

// winsock2.h
const (
	pollErr     = 0x0001
	pollHup     = 0x0002
	pollInvalid = 0x0004
	pollOut     = 0x0010          // POLLWRNORM
	pollIn      = 0x0100 | 0x0200 // POLLRDNORM, POLLRDBAND
)

// watch returns the entry for a socket and the events to wait for.
func watch(fd FD, events int16) pollFD { return pollFD{Fd: uintptr(fd), Events: events} }
