// Package syscall's form of sockets and errors, and calls that differ from those of Unix.

package netx

import (
	"net/netip"
	"syscall"

	"gofabric/internal/wsa"
)

// handle is a socket in package syscall's form.
type handle = syscall.Handle

// sysErr returns an error of a call with its POSIX name.
func sysErr(err error) error {
	if e, ok := err.(syscall.Errno); ok {
		return wsa.Errno(e)
	}
	return err
}

// Close closes the socket.
func Close(fd FD) error { return sysErr(syscall.Closesocket(handle(fd))) }

// Duplicate fails: it is for local sockets, which this package does not have on Windows.
func Duplicate(FD) (FD, error) { return NoFD, syscall.ENOSYS }

// connect starts to connect.
func connect(fd FD, sa syscall.Sockaddr) error {
	if loopback(sa) {
		// Otherwise Windows retries twice after a refusal, half a second apart, before it reports the refusal.
		ioctl(fd, sioTCPInitialRTO, []byte{0xff, 0xff, noSynRetransmissions, 0})
	}
	err := sysErr(syscall.Connect(handle(fd), sa))
	if err == syscall.EAGAIN {
		return syscall.EINPROGRESS
	}
	return err
}

func loopback(sa syscall.Sockaddr) bool {
	switch a := sa.(type) {
	case *syscall.SockaddrInet4:
		return a.Addr[0] == 127
	case *syscall.SockaddrInet6:
		return netip.AddrFrom16(a.Addr).Unmap().IsLoopback()
	}
	return false
}

// BindGroup makes a socket receive at the port of a multicast group. Other sockets may do so as well. Windows binds
// only to addresses of interfaces, so the socket may also receive datagrams that were not sent to the group.
func BindGroup(fd FD, group netip.AddrPort) error {
	if err := setInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	any := netip.IPv4Unspecified()
	if group.Addr().Is6() {
		any = netip.IPv6Unspecified()
	}
	return Bind(fd, netip.AddrPortFrom(any, group.Port()))
}

// setSmall sets an option that has one byte on other systems.
func setSmall(fd FD, level, opt, value int) error { return setInt(fd, level, opt, value) }
