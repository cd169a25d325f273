// Socket options as macOS has them.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

const tcpKeepIdle = unix.TCP_KEEPALIVE

// SetUserTimeout ends a connection with ETIMEDOUT when sent data stays unacknowledged for d (RFC 5482); 0 restores the system's patience.
// Precision: milliseconds on Linux, seconds on macOS and Windows. ENOTSUP where there is no such option.
func SetUserTimeout(fd FD, d time.Duration) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_RXT_CONNDROPTIME, roundUp(d, time.Second))
}

// soNWrite is SO_NWRITE (sys/socket.h), which golang.org/x/sys has not.
const soNWrite = 0x1024

// Unacknowledged returns how many bytes were sent on a TCP socket that the peer's system has not acknowledged (SO_NWRITE, getsockopt(2)); 0 if it cannot be told.
func Unacknowledged(fd FD) int {
	n, err := getInt(fd, unix.SOL_SOCKET, soNWrite)
	if err != nil {
		return 0
	}
	return n
}
