// How package syscall knows a socket, its errors, and calls that differ from those of Unix.

package netx

import (
	"net/netip"
	"syscall"

	"gofabric/internal/wsa"
)

// handle is a socket as package syscall takes it.
type handle = syscall.Handle

// sysErr gives an error of a call its POSIX name.
func sysErr(err error) error {
	if e, ok := err.(syscall.Errno); ok {
		return wsa.Errno(e)
	}
	return err
}

// Close gives the socket back.
func Close(fd FD) error { return sysErr(syscall.Closesocket(handle(fd))) }

// Duplicate fails: it serves local sockets, which are not to be had here.
func Duplicate(FD) (FD, error) { return NoFD, syscall.ENOSYS }

// connect starts to connect.
func connect(fd FD, sa syscall.Sockaddr) error {
	if loopback(sa) {
		// Otherwise Windows asks twice more, half a second apart, after it was refused, and only then says so.
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

// BindGroup has a socket receive at the port of a multicast group, beside other sockets that do; Windows binds to addresses of interfaces only, so
// datagrams that were not sent to the group may come, too.
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

// setSmall sets an option that is one byte long elsewhere.
func setSmall(fd FD, level, opt, value int) error { return setInt(fd, level, opt, value) }
