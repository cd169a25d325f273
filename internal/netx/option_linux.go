// Socket options as Linux has them.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

const tcpKeepIdle = unix.TCP_KEEPIDLE

// SetUserTimeout ends a connection with unix.ETIMEDOUT when sent data stays unacknowledged for d (RFC 5482); 0 restores the system's patience.
// Precision: milliseconds on Linux, seconds on macOS.
func SetUserTimeout(fd FD, d time.Duration) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, roundUp(d, time.Millisecond))
}

// SetRetransmitMin has what was lost be sent again after d, if the round trip does not take longer, instead of the system's least time, which is 200 ms
// (TCP_RTO_MIN_US, Linux 6.16); an error where there is no such option.
func SetRetransmitMin(fd FD, d time.Duration) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MIN_US, roundUp(d, time.Microsecond))
}

// SetBusyPoll makes receives on the socket poll the device for up to d before they give up (SO_BUSY_POLL); unix.ENOTSUP where there is none,
// unix.EPERM when raising it needs CAP_NET_ADMIN.
func SetBusyPoll(fd FD, d time.Duration) error {
	return setInt(fd, unix.SOL_SOCKET, unix.SO_BUSY_POLL, roundUp(d, time.Microsecond))
}

// SetQuickAck turns delayed acknowledgements off for the time being (TCP_QUICKACK: the kernel may turn them on again); unix.ENOTSUP where there is
// no such option.
func SetQuickAck(fd FD, on bool) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, flag(on))
}

// SetCongestion chooses the congestion control of a connection by name (tcp(7), TCP_CONGESTION). ENOENT or EPERM: the system does not have or allow it.
func SetCongestion(fd FD, name string) error {
	return unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// SetLatePort has a socket that is bound to an address without a port get that when it connects, by both ends of the connection (ip(7), IP_BIND_ADDRESS_NO_PORT):
// then it is not one that somebody wants to listen at.
func SetLatePort(fd FD) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
}
