// Socket options on Linux.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

const tcpKeepIdle = unix.TCP_KEEPIDLE

// SetUserTimeout ends a connection with unix.ETIMEDOUT when sent data stays unacknowledged for d (RFC 5482). 0
// restores the system's default. The precision is milliseconds on Linux, seconds on macOS.
func SetUserTimeout(fd FD, d time.Duration) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, roundUp(d, time.Millisecond))
}

// SetRetransmitMin sets the minimum retransmission timeout to d, instead of the kernel's 200 ms (TCP_RTO_MIN_US,
// Linux 6.16). It fails on kernels without the option.
func SetRetransmitMin(fd FD, d time.Duration) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MIN_US, roundUp(d, time.Microsecond))
}

// SetCongestion chooses the congestion control of a connection by name (tcp(7), TCP_CONGESTION). ENOENT: the system
// does not have it. EPERM: the process may not use it.
func SetCongestion(fd FD, name string) error {
	return unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// SetLatePort makes a socket that is bound to an address without a port get its port at connect, where the kernel
// takes both ends into account (ip(7), IP_BIND_ADDRESS_NO_PORT). The socket then does not occupy a port at which a
// program wants to listen.
func SetLatePort(fd FD) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
}
