//go:build !linux || fabricbasic

package netx

import "golang.org/x/sys/unix"

// Unacknowledged returns how many bytes were sent on a TCP socket that the peer's system has not acknowledged (SO_NWRITE, getsockopt(2)); 0 if it cannot be told.
func Unacknowledged(fd FD) int {
	n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NWRITE)
	if err != nil {
		return 0
	}
	return n
}
