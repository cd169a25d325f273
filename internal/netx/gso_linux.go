//go:build !fabricbasic

// Runs of datagrams, and the count of lost ones.

package netx

import "golang.org/x/sys/unix"

// SetGRO makes the kernel deliver runs of equal datagrams of one sender in one receive (UDP_GRO). It returns
// unix.ENOTSUP where the kernel cannot.
func SetGRO(fd FD, on bool) error {
	if err := setInt(fd, unix.SOL_UDP, unix.UDP_GRO, flag(on)); err != nil {
		if err == unix.ENOPROTOOPT {
			return unix.ENOTSUP
		}
		return err
	}
	return nil
}

// ProbeGSO returns nil if runs can be sent with one call (UDP_SEGMENT), otherwise the reason why not.
func ProbeGSO(fd FD) error {
	if _, err := unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT); err != nil {
		return unix.ENOTSUP
	}
	return nil
}

// Drops returns how many datagrams the socket has lost since it was opened, for lack of room in the receive buffer
// or because of a bad checksum. It returns unix.ENOTSUP where the kernel does not report this. SO_RXQ_OVFL has the
// same number, but only with the next datagram, which may never come.
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

// Indices into the array of SO_MEMINFO (linux/sock_diag.h).
const (
	skMeminfoDrops = 8
	skMeminfoVars  = 9
)
