//go:build unix

// Socket options that the Unix systems share.

package netx

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	tcpKeepInterval = unix.TCP_KEEPINTVL
	tcpKeepCount    = unix.TCP_KEEPCNT
	soError         = unix.SO_ERROR
)

// SetKeepAlive probes an idle connection: the first probe after idle, then one every interval, and the connection fails with syscall.ETIMEDOUT when
// count probes in a row stay unanswered. Durations are rounded up to whole seconds. idle of 0 turns probing off; interval or count of 0 keeps
// the system's value.
func SetKeepAlive(fd FD, idle, interval time.Duration, count int) error {
	if err := setInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, flag(idle > 0)); err != nil || idle <= 0 {
		return err
	}
	return setKeepAlive(fd, idle, interval, count)
}

// SetReuseAddr lets a listener bind an address whose old connections linger in TIME_WAIT (SO_REUSEADDR).
func SetReuseAddr(fd FD, on bool) error {
	return setInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, flag(on))
}

// SetLowWater has a socket be readable when n bytes have come, or its end, and not before (SO_RCVLOWAT, socket(7)); 1 is the default. Receiving takes what there is all the same.
func SetLowWater(fd FD, n int) error { return setInt(fd, syscall.SOL_SOCKET, unix.SO_RCVLOWAT, n) }

// SetDSCP marks outgoing packets with a traffic class: the whole TOS or traffic-class byte, whose upper six bits are the DSCP (RFC 2474).
func SetDSCP(fd FD, tos int) error {
	sa, err := syscall.Getsockname(int(fd))
	if err != nil {
		return err
	}
	if _, ok := sa.(*syscall.SockaddrInet4); ok {
		return setInt(fd, syscall.IPPROTO_IP, syscall.IP_TOS, tos)
	}
	setInt(fd, syscall.IPPROTO_IP, syscall.IP_TOS, tos) // for IPv4 peers, where the socket serves them, too
	return setInt(fd, syscall.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
}
