// Socket options that every system has.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

// SetNoDelay sends small segments at once (TCP_NODELAY).
func SetNoDelay(fd FD, on bool) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, flag(on))
}

// SetReuseAddr lets a listener bind an address whose old connections linger in TIME_WAIT (SO_REUSEADDR).
func SetReuseAddr(fd FD, on bool) error {
	return setInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, flag(on))
}

// SetKeepAlive probes an idle connection: the first probe after idle, then one every interval, and the connection fails with unix.ETIMEDOUT when
// count probes in a row stay unanswered. Durations are rounded up to whole seconds. idle of 0 turns probing off; interval or count of 0 keeps
// the system's value.
func SetKeepAlive(fd FD, idle, interval time.Duration, count int) error {
	if err := setInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, flag(idle > 0)); err != nil || idle <= 0 {
		return err
	}
	if err := setInt(fd, unix.IPPROTO_TCP, tcpKeepIdle, roundUp(idle, time.Second)); err != nil {
		return err
	}
	if interval > 0 {
		if err := setInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, roundUp(interval, time.Second)); err != nil {
			return err
		}
	}
	if count > 0 {
		return setInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, count)
	}
	return nil
}

// SetBuffers asks for kernel buffers of snd and rcv bytes; 0 leaves one as it is. The kernel silently limits them (Linux: net.core.wmem_max and
// rmem_max) and, for TCP, stops tuning a buffer that was set.
func SetBuffers(fd FD, snd, rcv int) error {
	if snd > 0 {
		if err := setInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, snd); err != nil {
			return err
		}
	}
	if rcv > 0 {
		return setInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, rcv)
	}
	return nil
}

// Buffers returns the sizes in bytes that the kernel accounts for sending and receiving (Linux reports twice what was asked for).
func Buffers(fd FD) (snd, rcv int, err error) {
	if snd, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil {
		return 0, 0, err
	}
	rcv, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
	return snd, rcv, err
}

// SetLinger says what Close does with unsent data: negative: the kernel goes on sending in the background (the default); 0: the connection is
// reset at once; positive: as the default, with that many seconds at most.
func SetLinger(fd FD, seconds int) error {
	l := unix.Linger{}
	if seconds >= 0 {
		l.Onoff, l.Linger = 1, int32(seconds)
	}
	return unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &l)
}

// SetLowWater has a socket be readable when n bytes have come, or its end, and not before (SO_RCVLOWAT, socket(7)); 1 is the default. Receiving takes what there is all the same.
func SetLowWater(fd FD, n int) error { return setInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, n) }

// SetV6Only keeps IPv4-mapped traffic off an IPv6 socket, so that IPv4 can be bound to the same port by itself.
func SetV6Only(fd FD, on bool) error {
	return setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, flag(on))
}

// SetDSCP marks outgoing packets with a traffic class: the whole TOS or traffic-class byte, whose upper six bits are the DSCP (RFC 2474).
func SetDSCP(fd FD, tos int) error {
	sa, err := unix.Getsockname(int(fd))
	if err != nil {
		return err
	}
	if _, ok := sa.(*unix.SockaddrInet4); ok {
		return setInt(fd, unix.IPPROTO_IP, unix.IP_TOS, tos)
	}
	setInt(fd, unix.IPPROTO_IP, unix.IP_TOS, tos) // for IPv4 peers, where the socket serves them, too
	return setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
}

func setInt(fd FD, level, opt, value int) error {
	return unix.SetsockoptInt(int(fd), level, opt, value)
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// roundUp is d in whole units, at least 1 when d is positive, and within what a socket option can hold.
func roundUp(d, unit time.Duration) int {
	if d <= 0 {
		return 0
	}
	return int(min((d-1)/unit+1, 1<<31-1))
}
