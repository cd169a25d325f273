//go:build !linux

// Options of datagram sockets on systems other than Linux.

package netx

import "syscall"

const (
	forceSendBuf = 0
	forceRecvBuf = 0
)

// PathMTU returns the size of the largest packet, with its headers, that reaches the connected peer in one piece,
// as far as the system knows. Here it is the MTU of the interface, because the system does not report more.
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
