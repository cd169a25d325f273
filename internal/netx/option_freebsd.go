// Socket options on FreeBSD.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

const tcpKeepIdle = unix.TCP_KEEPIDLE

// SetUserTimeout fails: the system's default TCP stack has no such option.
func SetUserTimeout(FD, time.Duration) error { return unix.ENOTSUP }

// fionWrite is FIONWRITE (sys/filio.h), which golang.org/x/sys does not define.
const fionWrite = 0x40046677

// Unacknowledged returns the number of bytes sent on a TCP socket that the peer's system has not acknowledged
// (FIONWRITE, ioctl(2)), 0 if unknown.
func Unacknowledged(fd FD) int {
	n, err := unix.IoctlGetInt(int(fd), fionWrite)
	if err != nil {
		return 0
	}
	return n
}
