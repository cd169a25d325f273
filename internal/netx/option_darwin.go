// Socket options on macOS.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

const tcpKeepIdle = unix.TCP_KEEPALIVE

// SetUserTimeout ends a connection with ETIMEDOUT when sent data stays unacknowledged for d (RFC 5482). 0 restores
// the system's default. The precision is milliseconds on Linux, seconds on macOS and Windows. ENOTSUP: the system
// has no such option.
func SetUserTimeout(fd FD, d time.Duration) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_RXT_CONNDROPTIME, roundUp(d, time.Second))
}

// soNWrite is SO_NWRITE (sys/socket.h), which golang.org/x/sys does not define.
const soNWrite = 0x1024

// Unacknowledged returns the number of bytes sent on a TCP socket that the peer's system has not acknowledged
// (SO_NWRITE, getsockopt(2)), 0 if unknown.
func Unacknowledged(fd FD) int {
	n, err := getInt(fd, unix.SOL_SOCKET, soNWrite)
	if err != nil {
		return 0
	}
	return n
}
