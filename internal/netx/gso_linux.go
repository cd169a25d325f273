//go:build !fabricbasic

// Runs of datagrams, and the count of those that were lost.

package netx

import "golang.org/x/sys/unix"

// SetGRO makes the kernel hand over runs of equal datagrams of one sender as one (UDP_GRO); unix.ENOTSUP where it cannot.
func SetGRO(fd FD, on bool) error {
	if err := setInt(fd, unix.SOL_UDP, unix.UDP_GRO, flag(on)); err != nil {
		if err == unix.ENOPROTOOPT {
			return unix.ENOTSUP
		}
		return err
	}
	return nil
}

// ProbeGSO reports why runs cannot be sent with one call (UDP_SEGMENT), nil if they can.
func ProbeGSO(fd FD) error {
	if _, err := unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT); err != nil {
		return unix.ENOTSUP
	}
	return nil
}

// Drops is how many datagrams the receive buffer had no room for since the socket was opened (or that had a bad checksum); unix.ENOTSUP where the system
// does not tell. It is the number that SO_RXQ_OVFL brings with the next datagram, for which one may wait for ever.
func Drops(fd FD) (uint32, error) {
	var info [skMeminfoVars]uint32
	n, errno := sysGetsockopt(fd, unix.SOL_SOCKET, unix.SO_MEMINFO, &info)
	if errno != 0 {
		return 0, errno
	}
	if n <= 4*skMeminfoDrops {
		return 0, unix.ENOTSUP // before Linux 4.12
	}
	return info[skMeminfoDrops], nil
}

// Indices into what SO_MEMINFO gives (linux/sock_diag.h).
const (
	skMeminfoDrops = 8
	skMeminfoVars  = 9
)
