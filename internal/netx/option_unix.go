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

// SetKeepAlive sends probes on an idle connection: the first after idle, then one every interval. The connection
// fails with syscall.ETIMEDOUT when count probes in a row have no answer. Durations are rounded up to whole
// seconds. An idle of 0 turns probes off. An interval or count of 0 keeps the system's value.
func SetKeepAlive(fd FD, idle, interval time.Duration, count int) error {
	if err := setInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, flag(idle > 0)); err != nil || idle <= 0 {
		return err
	}
	return setKeepAlive(fd, idle, interval, count)
}

// SetReuseAddr lets a listener bind an address whose old connections are in TIME_WAIT (SO_REUSEADDR).
func SetReuseAddr(fd FD, on bool) error {
	return setInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, flag(on))
}

// SetLowWater makes a socket readable only when n bytes, or the end of the stream, have come (SO_RCVLOWAT,
// socket(7)). 1 is the default. A receive returns fewer bytes all the same.
func SetLowWater(fd FD, n int) error { return setInt(fd, syscall.SOL_SOCKET, unix.SO_RCVLOWAT, n) }

// SetDSCP marks outgoing packets with a traffic class. tos is the whole TOS or traffic-class byte; its upper six
// bits are the DSCP (RFC 2474).
func SetDSCP(fd FD, tos int) error {
	sa, err := syscall.Getsockname(int(fd))
	if err != nil {
		return err
	}
	if _, ok := sa.(*syscall.SockaddrInet4); ok {
		return setInt(fd, syscall.IPPROTO_IP, syscall.IP_TOS, tos)
	}
	setInt(fd, syscall.IPPROTO_IP, syscall.IP_TOS, tos) // for IPv4 peers, if the socket serves them, too
	return setInt(fd, syscall.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
}
