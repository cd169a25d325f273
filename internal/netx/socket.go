// Sockets from bind to connect.

package netx

import (
	"net/netip"
	"syscall"
)

// StreamSocket opens a TCP socket of family syscall.AF_INET or syscall.AF_INET6, non-blocking and close-on-exec. Errors are syscall.Errno values
// (EMFILE, ENFILE, EAFNOSUPPORT).
func StreamSocket(family int) (FD, error) { return socket(family, syscall.SOCK_STREAM) }

// DatagramSocket opens a UDP socket in the same way.
func DatagramSocket(family int) (FD, error) { return socket(family, syscall.SOCK_DGRAM) }

// Bind gives the socket its local address. Port 0 lets the kernel choose; see LocalAddr.
func Bind(fd FD, ap netip.AddrPort) error {
	sa, err := toSockaddr(ap)
	if err != nil {
		return err
	}
	return sysErr(syscall.Bind(handle(fd), sa))
}

// CanBind reports whether a socket could have the local address a, which says that a is this host's, unless the system was told not to look
// (net.ipv4.ip_nonlocal_bind). It costs three small system calls; IsLocal, which compares, has all interfaces listed.
func CanBind(a netip.Addr) bool {
	fd, err := DatagramSocket(Family(a))
	if err != nil {
		return false
	}
	defer Close(fd)
	return Bind(fd, netip.AddrPortFrom(a, 0)) == nil
}

// OneHost reports whether a peer looks like one of this host to who has the local address, as far as CanBind can tell.
func OneHost(local, peer netip.Addr) bool {
	return local == peer || local.IsLoopback() || peer.IsLoopback() || CanBind(peer)
}

// Peer is a process at the other end of a local socket, and the user with whose rights it acts.
type Peer struct{ PID, UID int }

// Listen starts accepting; the kernel holds up to backlog connections that nobody accepted yet.
func Listen(fd FD, backlog int) error { return sysErr(syscall.Listen(handle(fd), backlog)) }

// Connect starts to connect. It returns nil when the connection stands at once (a datagram socket, sometimes loopback), else usually
// syscall.EINPROGRESS: the socket becomes writable when it is decided, and SocketError then says how.
func Connect(fd FD, ap netip.AddrPort) error {
	sa, err := toSockaddr(ap)
	if err != nil {
		return err
	}
	return connect(fd, sa)
}

// LocalAddr is the address that the socket is bound to (getsockname).
func LocalAddr(fd FD) (netip.AddrPort, error) {
	sa, err := syscall.Getsockname(handle(fd))
	if err != nil {
		return netip.AddrPort{}, sysErr(err)
	}
	return fromSockaddr(sa), nil
}

// PeerAddr is the address that the socket is connected to (getpeername); syscall.ENOTCONN when it is not.
func PeerAddr(fd FD) (netip.AddrPort, error) {
	sa, err := syscall.Getpeername(handle(fd))
	if err != nil {
		return netip.AddrPort{}, sysErr(err)
	}
	return fromSockaddr(sa), nil
}

// SocketError takes the pending error off the socket (SO_ERROR): nil, or the syscall.Errno that an asynchronous connect or send ended with.
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
