package netx

import "golang.org/x/sys/unix"

// Unacknowledged returns how many bytes were sent on a TCP socket that the peer's system has not acknowledged (SIOCOUTQ, tcp(7)); 0 if it cannot be told.
func Unacknowledged(fd FD) int {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}
