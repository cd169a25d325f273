//go:build !fabricbasic

package netx

import "golang.org/x/sys/unix"

// Waiting returns how many bytes can be received from a stream socket now (SIOCINQ, tcp(7)); 0 if there are none, or it cannot be told.
func Waiting(fd FD) int {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
