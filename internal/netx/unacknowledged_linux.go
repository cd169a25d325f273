package netx

import "golang.org/x/sys/unix"

// Unacknowledged returns the number of bytes sent on a TCP socket that the peer's system has not acknowledged
// (SIOCOUTQ, tcp(7)), 0 if unknown.
func Unacknowledged(fd FD) int {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}
