// The two ends of a Notifier: one datagram socket connected to itself.

package netx

import (
	"net/netip"
	"syscall"
)

// openSignal returns the end to poll and the end to write: a socket at a loopback address that receives only from
// itself. WSAPoll accepts only sockets, whether this package or an application calls it.
func openSignal() (fd, write FD, err error) {
	if fd, err = DatagramSocket(syscall.AF_INET); err != nil {
		return NoFD, NoFD, err
	}
	if err = Bind(fd, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)); err == nil {
		var at netip.AddrPort
		if at, err = LocalAddr(fd); err == nil {
			err = Connect(fd, at)
		}
	}
	if err != nil {
		Close(fd)
		return NoFD, NoFD, err
	}
	return fd, fd, nil
}

// raiseSignal ignores a full buffer: the socket is readable already.
func raiseSignal(write FD) {
	one := [1]byte{1}
	sysSend(write, one[:], false)
}

// lowerSignal takes all signals back. There may be none.
func lowerSignal(fd FD) {
	var b [1]byte
	for {
		if _, errno := sysRecv(fd, b[:]); errno != 0 {
			return
		}
	}
}
