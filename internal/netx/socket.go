// Sockets from bind to connect.

package netx

import (
	"net/netip"
	"syscall"
)

// StreamSocket opens a TCP socket of family syscall.AF_INET or syscall.AF_INET6, non-blocking and close-on-exec.
// Errors are syscall.Errno values (EMFILE, ENFILE, EAFNOSUPPORT).
func StreamSocket(family int) (FD, error) { return socket(family, syscall.SOCK_STREAM) }

// DatagramSocket opens a UDP socket in the same way.
func DatagramSocket(family int) (FD, error) { return socket(family, syscall.SOCK_DGRAM) }

// Bind gives the socket its local address. With port 0 the kernel chooses one; see LocalAddr.
func Bind(fd FD, ap netip.AddrPort) error {
	sa, err := toSockaddr(ap)
	if err != nil {
		return err
	}
	return sysErr(syscall.Bind(handle(fd), sa))
}

// CanBind reports whether a socket can be bound to the address a. Then a belongs to this host, unless the system
// allows other addresses, too (net.ipv4.ip_nonlocal_bind). It costs three short system calls, while IsLocal lists
// all interfaces.
func CanBind(a netip.Addr) bool {
	fd, err := DatagramSocket(Family(a))
	if err != nil {
		return false
	}
	defer Close(fd)
	return Bind(fd, netip.AddrPortFrom(a, 0)) == nil
}

// OneHost reports whether peer belongs to the same host as local, as far as CanBind can tell.
func OneHost(local, peer netip.Addr) bool {
	return local == peer || local.IsLoopback() || peer.IsLoopback() || CanBind(peer)
}

// Peer is the process at the other end of a local socket, and the user whose rights it has.
type Peer struct{ PID, UID int }

// Listen starts to listen. The kernel holds up to backlog connections that were not accepted yet.
func Listen(fd FD, backlog int) error { return sysErr(syscall.Listen(handle(fd), backlog)) }

// Connect starts to connect. It returns nil when the connection is established at once (a datagram socket,
// sometimes loopback), otherwise usually syscall.EINPROGRESS. In that case the socket becomes writable when the
// attempt has ended, and SocketError returns the result.
func Connect(fd FD, ap netip.AddrPort) error {
	sa, err := toSockaddr(ap)
	if err != nil {
		return err
	}
	return connect(fd, sa)
}

// LocalAddr returns the address that the socket is bound to (getsockname(2)).
func LocalAddr(fd FD) (netip.AddrPort, error) {
	sa, err := syscall.Getsockname(handle(fd))
	if err != nil {
		return netip.AddrPort{}, sysErr(err)
	}
	return fromSockaddr(sa), nil
}

// PeerAddr returns the address that the socket is connected to (getpeername(2)). It returns syscall.ENOTCONN when
// it is not connected.
func PeerAddr(fd FD) (netip.AddrPort, error) {
	sa, err := syscall.Getpeername(handle(fd))
	if err != nil {
		return netip.AddrPort{}, sysErr(err)
	}
	return fromSockaddr(sa), nil
}

// SocketError takes the pending error off the socket (SO_ERROR): nil, or the syscall.Errno of an asynchronous
// connect or send.
func SocketError(fd FD) error {
	n, err := getInt(fd, syscall.SOL_SOCKET, soError)
	if err != nil {
		return err
	}
	if n != 0 {
		return sysErr(syscall.Errno(n))
	}
	return nil
}
