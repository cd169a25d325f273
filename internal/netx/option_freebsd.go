// Socket options as FreeBSD has them.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

const tcpKeepIdle = unix.TCP_KEEPIDLE

// SetUserTimeout is not to be had: the system has no such option for its default TCP stack.
func SetUserTimeout(FD, time.Duration) error { return unix.ENOTSUP }

// fionWrite is FIONWRITE (sys/filio.h), which golang.org/x/sys has not.
const fionWrite = 0x40046677

// Unacknowledged returns how many bytes were sent on a TCP socket that the peer's system has not acknowledged (FIONWRITE, ioctl(2)); 0 if it cannot be told.
func Unacknowledged(fd FD) int {
	n, err := unix.IoctlGetInt(int(fd), fionWrite)
	if err != nil {
		return 0
	}
	return n
}
