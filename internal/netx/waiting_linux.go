//go:build !fabricbasic

package netx

import "golang.org/x/sys/unix"

// Waiting returns the number of bytes that can be received from a stream socket now (SIOCINQ, tcp(7)), 0 if there
// are none or it is unknown.
func Waiting(fd FD) int {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
