//go:build unix

// How package syscall knows a descriptor, its errors, and calls that the Unix systems share.

package netx

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle is a descriptor as package syscall takes it.
type handle = int

// sysErr gives an error of a call its POSIX name, which it has already.
func sysErr(err error) error { return err }

// Close gives the descriptor back. It is never retried: on Linux the number is free again even when close(2) reports EINTR.
func Close(fd FD) error { return unix.Close(int(fd)) }

// Duplicate returns another descriptor of the same file, close-on-exec (fcntl(2), F_DUPFD_CLOEXEC).
func Duplicate(fd FD) (FD, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return NoFD, err
	}
	return FD(n), nil
}

// connect starts to connect.
func connect(fd FD, sa syscall.Sockaddr) error {
	err := syscall.Connect(int(fd), sa)
	if err == syscall.EINTR {
		// The attempt goes on in the background, exactly as after EINPROGRESS (POSIX connect).
		return syscall.EINPROGRESS
	}
	return err
}

// BindGroup gives a socket the address of a multicast group, so that nothing else comes, beside other sockets that are members.
func BindGroup(fd FD, group netip.AddrPort) error {
	if err := SetReuseAddr(fd, true); err != nil {
		return err
	}
	return Bind(fd, group)
}

// setSmall sets an option that is one byte long: the BSDs take nothing longer for those of multicast, Linux takes both.
func setSmall(fd FD, level, opt, value int) error {
	return syscall.SetsockoptByte(int(fd), level, opt, byte(value))
}

// setGroup joins or leaves an IPv6 group.
func setGroup(fd FD, opt int, m *syscall.IPv6Mreq) error {
	return syscall.SetsockoptIPv6Mreq(int(fd), syscall.IPPROTO_IPV6, opt, m)
}

// Peek reports how many of the bytes that wait on a connected socket it has found; 0 and no error: the peer has closed.
func Peek(fd FD) (int, error) {
	var b [1]byte
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n, err
}
