//go:build unix

// Package syscall's form of descriptors and errors, and calls that the Unix systems share.

package netx

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle is a descriptor in package syscall's form.
type handle = int

// sysErr returns an error of a call with its POSIX name, which it already has.
func sysErr(err error) error { return err }

// Close closes the descriptor. It never retries: on Linux the number is free again even when close(2) returns
// EINTR.
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
		// The attempt continues in the background, as after EINPROGRESS (POSIX, connect).
		return syscall.EINPROGRESS
	}
	return err
}

// BindGroup binds a socket to the address of a multicast group, so that it receives only datagrams to the group.
// Other sockets may be bound to it as well.
func BindGroup(fd FD, group netip.AddrPort) error {
	if err := SetReuseAddr(fd, true); err != nil {
		return err
	}
	return Bind(fd, group)
}

// setSmall sets an option of one byte. The BSDs accept only one byte for multicast options, Linux also an int.
func setSmall(fd FD, level, opt, value int) error {
	return syscall.SetsockoptByte(int(fd), level, opt, byte(value))
}

// setGroup joins or leaves an IPv6 group.
func setGroup(fd FD, opt int, m *syscall.IPv6Mreq) error {
	return syscall.SetsockoptIPv6Mreq(int(fd), syscall.IPPROTO_IPV6, opt, m)
}

// Peek reports how many bytes it found waiting on a connected socket. 0 without an error means that the peer has
// closed the connection.
func Peek(fd FD) (int, error) {
	var b [1]byte
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n, err
}
