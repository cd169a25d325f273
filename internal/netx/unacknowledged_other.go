//go:build !linux || fabricbasic

package netx

import "golang.org/x/sys/unix"

// soNWrite is SO_NWRITE of macOS (sys/socket.h), which golang.org/x/sys has not. Other systems answer ENOPROTOOPT.
const soNWrite = 0x1024

// Unacknowledged returns how many bytes were sent on a TCP socket that the peer's system has not acknowledged (SO_NWRITE, getsockopt(2)); 0 if it cannot be told.
func Unacknowledged(fd FD) int {
	n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, soNWrite)
	if err != nil {
		return 0
	}
	return n
}
