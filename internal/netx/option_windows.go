// Socket options on Windows.

package netx

import (
	"encoding/binary"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

const (
	tcpKeepIdle     = windows.TCP_KEEPIDLE
	tcpKeepInterval = windows.TCP_KEEPINTVL
	tcpKeepCount    = windows.TCP_KEEPCNT
)

// Constants that golang.org/x/sys does not define (ws2def.h, ws2ipdef.h, mstcpip.h).
const (
	soError        = 0x1007
	ipDontFragment = 14
	ip6DontFrag    = 14

	msgPeek              = 2
	fionBIO              = 0x8004667e
	fionRead             = 0x4004667f
	sioTCPInitialRTO     = 0x98000011
	noSynRetransmissions = 0xfe
)

// SetKeepAlive sends probes on an idle connection: the first after idle, then one every interval. The connection
// fails with syscall.ETIMEDOUT when count probes in a row have no answer. Durations are rounded up to whole
// seconds. An idle of 0 turns probes off. An interval or count of 0 keeps the system's value.
func SetKeepAlive(fd FD, idle, interval time.Duration, count int) error {
	if err := setInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, flag(idle > 0)); err != nil || idle <= 0 {
		return err
	}
	err := setKeepAlive(fd, idle, interval, count)
	if err != syscall.ENOPROTOOPT || interval <= 0 || count <= 0 {
		return err
	}
	// Before Windows 10, 1709, the number of probes is always 10 (SIO_KEEPALIVE_VALS). The interval is scaled so
	// that all of them take the same time.
	var vals [12]byte // struct tcp_keepalive (mstcpip.h): on, and two times in milliseconds
	binary.NativeEndian.PutUint32(vals[0:], 1)
	binary.NativeEndian.PutUint32(vals[4:], uint32(roundUp(idle, time.Millisecond)))
	binary.NativeEndian.PutUint32(vals[8:], uint32(roundUp(interval*time.Duration(count)/10, time.Millisecond)))
	return ioctl(fd, windows.SIO_KEEPALIVE_VALS, vals[:])
}

// SetReuseAddr does nothing. Windows lets a listener bind an address whose old connections are in TIME_WAIT. Its
// SO_REUSEADDR would let it bind an address at which other sockets listen.
func SetReuseAddr(FD, bool) error { return nil }

// SetLowWater fails: Windows has no SO_RCVLOWAT.
func SetLowWater(FD, int) error { return syscall.ENOTSUP }

// SetDSCP marks no packets: Windows sets traffic classes by policy (qWAVE) and ignores IP_TOS.
func SetDSCP(_ FD, tos int) error {
	if tos == 0 {
		return nil
	}
	return syscall.EOPNOTSUPP
}

// SetUserTimeout ends a connection with ETIMEDOUT when sent data stays unacknowledged for d (RFC 5482). 0 restores
// the system's default. The precision is milliseconds on Linux, seconds on macOS and Windows. ENOTSUP: the system
// has no such option.
func SetUserTimeout(fd FD, d time.Duration) error {
	err := setInt(fd, syscall.IPPROTO_TCP, windows.TCP_MAXRT, roundUp(d, time.Second))
	if err == syscall.ENOPROTOOPT {
		return syscall.ENOTSUP
	}
	return err
}

// SetFragment sets whether a socket of the given family sends datagrams that are longer than the path takes in one
// piece. With on, the system fragments them. Otherwise such a send fails with EMSGSIZE, and no router may fragment
// (IP_DONTFRAGMENT).
func SetFragment(fd FD, family int, on bool) error {
	if family == syscall.AF_INET6 {
		return setInt(fd, syscall.IPPROTO_IPV6, ip6DontFrag, flag(!on))
	}
	return setInt(fd, syscall.IPPROTO_IP, ipDontFragment, flag(!on))
}

// setGroup joins or leaves an IPv6 group.
func setGroup(fd FD, opt int, m *syscall.IPv6Mreq) error {
	b := append(m.Multiaddr[:], 0, 0, 0, 0)
	binary.NativeEndian.PutUint32(b[16:], m.Interface)
	return sysErr(syscall.Setsockopt(handle(fd), syscall.IPPROTO_IPV6, int32(opt), &b[0], int32(len(b))))
}

// Unacknowledged returns 0, as Windows does not report it.
func Unacknowledged(FD) int { return 0 }

// Waiting returns the number of bytes that can be received from a stream socket now (FIONREAD), 0 if there are none
// or it is unknown.
func Waiting(fd FD) int {
	var out [4]byte
	if err := ioctlOut(fd, fionRead, out[:]); err != nil {
		return 0
	}
	return int(binary.NativeEndian.Uint32(out[:]))
}

// ioctl is WSAIoctl with a value to set.
func ioctl(fd FD, code uint32, in []byte) error {
	var n uint32
	return sysErr(windows.WSAIoctl(windows.Handle(fd), code, &in[0], uint32(len(in)), nil, 0, &n, nil, 0))
}

// ioctlOut is WSAIoctl with a value to get.
func ioctlOut(fd FD, code uint32, out []byte) error {
	var n uint32
	return sysErr(windows.WSAIoctl(windows.Handle(fd), code, nil, 0, &out[0], uint32(len(out)), &n, nil, 0))
}
