//go:build !linux

// Socket options as macOS has them.

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

const tcpKeepIdle = unix.TCP_KEEPALIVE

// SetUserTimeout ends a connection with unix.ETIMEDOUT when sent data stays unacknowledged for d (RFC 5482); 0 restores the system's patience.
// Precision: milliseconds on Linux, seconds on macOS.
func SetUserTimeout(fd FD, d time.Duration) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_RXT_CONNDROPTIME, roundUp(d, time.Second))
}

// SetRetransmitMin is Linux's.
func SetRetransmitMin(FD, time.Duration) error { return unix.ENOTSUP }

// SetBusyPoll makes receives on the socket poll the device for up to d before they give up (SO_BUSY_POLL); unix.ENOTSUP where there is none,
// unix.EPERM when raising it needs CAP_NET_ADMIN.
func SetBusyPoll(FD, time.Duration) error { return unix.ENOTSUP }

// SetQuickAck turns delayed acknowledgements off for the time being (TCP_QUICKACK: the kernel may turn them on again); unix.ENOTSUP where there is
// no such option.
func SetQuickAck(FD, bool) error { return unix.ENOTSUP }

// SetCongestion is Linux's.
func SetCongestion(FD, string) error { return unix.ENOTSUP }

// SetLatePort is Linux's.
func SetLatePort(FD) error { return unix.ENOTSUP }

// setNoSigPipe makes a send on a dead connection fail with EPIPE and nothing more; a C program that loads us may not ignore SIGPIPE.
func setNoSigPipe(fd FD) error { return setInt(fd, unix.SOL_SOCKET, unix.SO_NOSIGPIPE, 1) }
