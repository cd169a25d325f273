//go:build !linux

// Options of datagram sockets where the system is no Linux.

package netx

import "syscall"

const (
	forceSendBuf = 0
	forceRecvBuf = 0
)

// PathMTU is the size of the largest packet, headers included, that goes in one piece to the peer that a socket of family is connected to, as far as the
// system knows. Here it is the MTU of the interface, for the system does not tell more.
func PathMTU(fd FD, _ int) (int, error) {
	local, err := LocalAddr(fd)
	if err != nil {
		return 0, err
	}
	ifs, err := Interfaces()
	if err != nil {
		return 0, err
	}
	for _, i := range ifs {
		if i.Addr.WithZone("") == local.Addr().Unmap().WithZone("") {
			return i.MTU, nil
		}
	}
	return 0, syscall.ENODEV
}
