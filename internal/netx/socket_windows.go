// Opening and accepting over Winsock.

package netx

import (
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/windows"
)

// startup requests Winsock 2.2, once per process.
var startup = sync.OnceValue(func() error {
	var d windows.WSAData
	return sysErr(windows.WSAStartup(0x0202, &d))
})

func socket(family, kind int) (FD, error) {
	if err := startup(); err != nil {
		return NoFD, err
	}
	h, err := windows.WSASocket(int32(family), int32(kind), 0, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	if err != nil {
		return NoFD, sysErr(err)
	}
	fd := FD(h)
	if family == syscall.AF_INET6 {
		SetV6Only(fd, false) // the default on Linux
	}
	if kind == syscall.SOCK_DGRAM {
		// Otherwise an unreachable port or network of any earlier datagram would fail the next receive.
		ioctl(fd, windows.SIO_UDP_CONNRESET, make([]byte, 4))
		ioctl(fd, windows.SIO_UDP_NETRESET, make([]byte, 4))
	}
	return prepare(fd)
}

// Accept takes one connection from a listening socket. The new socket is non-blocking and not inherited. Accept
// returns EAGAIN when there is none. An error about the connection alone (ECONNRESET) leaves the listener as it is,
// and the caller calls again.
func Accept(fd FD) (FD, netip.AddrPort, error) {
	conn, err := sysAccept(fd)
	if err != nil {
		return NoFD, netip.AddrPort{}, err
	}
	windows.CloseOnExec(windows.Handle(conn))
	if conn, err = prepare(conn); err != nil {
		return NoFD, netip.AddrPort{}, err
	}
	from, err := PeerAddr(conn)
	if err != nil {
		Close(conn)
		return NoFD, netip.AddrPort{}, syscall.ECONNABORTED
	}
	return conn, from, nil
}

// prepare makes a new socket non-blocking, or closes it.
func prepare(fd FD) (FD, error) {
	if err := ioctl(fd, fionBIO, []byte{1, 0, 0, 0}); err != nil {
		Close(fd)
		return NoFD, err
	}
	return fd, nil
}
