// Socket options that every system has.

package netx

import (
	"syscall"
	"time"
)

// SetNoDelay makes the kernel send small segments at once (TCP_NODELAY).
func SetNoDelay(fd FD, on bool) error {
	return setInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, flag(on))
}

// setKeepAlive sets the times and the number of probes of SetKeepAlive.
func setKeepAlive(fd FD, idle, interval time.Duration, count int) error {
	if err := setInt(fd, syscall.IPPROTO_TCP, tcpKeepIdle, roundUp(idle, time.Second)); err != nil {
		return err
	}
	if interval > 0 {
		if err := setInt(fd, syscall.IPPROTO_TCP, tcpKeepInterval, roundUp(interval, time.Second)); err != nil {
			return err
		}
	}
	if count > 0 {
		return setInt(fd, syscall.IPPROTO_TCP, tcpKeepCount, count)
	}
	return nil
}

// SetBuffers asks for kernel buffers of snd and rcv bytes; 0 leaves a size unchanged. The kernel silently limits
// them (Linux: net.core.wmem_max and rmem_max). For TCP it stops tuning a buffer that was set.
func SetBuffers(fd FD, snd, rcv int) error {
	if snd > 0 {
		if err := setInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, snd); err != nil {
			return err
		}
	}
	if rcv > 0 {
		return setInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, rcv)
	}
	return nil
}

// Buffers returns the sizes in bytes that the kernel accounts for sending and receiving. Linux returns twice what
// was asked for.
func Buffers(fd FD) (snd, rcv int, err error) {
	if snd, err = getInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF); err != nil {
		return 0, 0, err
	}
	rcv, err = getInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	return snd, rcv, err
}

// SetLinger sets what Close does with unsent data. Negative: the kernel continues to send in the background (the
// default). 0: the connection is reset at once. Positive: as the default, but for at most that many seconds.
func SetLinger(fd FD, seconds int) error {
	l := syscall.Linger{}
	if seconds >= 0 {
		l.Onoff, l.Linger = 1, int32(seconds)
	}
	return sysErr(syscall.SetsockoptLinger(handle(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &l))
}

// SetV6Only keeps IPv4-mapped traffic off an IPv6 socket, so that an IPv4 socket can be bound to the same port.
func SetV6Only(fd FD, on bool) error {
	return setInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, flag(on))
}

func setInt(fd FD, level, opt, value int) error {
	return sysErr(syscall.SetsockoptInt(handle(fd), level, opt, value))
}

func getInt(fd FD, level, opt int) (int, error) {
	n, err := syscall.GetsockoptInt(handle(fd), level, opt)
	return n, sysErr(err)
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// roundUp returns d in whole units, at least 1 if d is positive, limited to the range of a socket option.
func roundUp(d, unit time.Duration) int {
	if d <= 0 {
		return 0
	}
	return int(min((d-1)/unit+1, 1<<31-1))
}
