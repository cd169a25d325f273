//go:build unix && (!linux || fabricbasic)

package netx

import "golang.org/x/sys/unix"

// Waiting returns the number of bytes that can be received from a stream socket now, up to 64 KiB, 0 if there are
// none.
func Waiting(fd FD) int {
	var b [64 << 10]byte
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
