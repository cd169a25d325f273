//go:build !linux

// Socket options that only Linux has.

package netx

import (
	"syscall"
	"time"
)

// SetRetransmitMin is Linux's.
func SetRetransmitMin(FD, time.Duration) error { return syscall.ENOTSUP }

// SetBusyPoll makes receives on the socket poll the device for up to d before they give up (SO_BUSY_POLL); syscall.ENOTSUP where there is none,
// syscall.EPERM when raising it needs CAP_NET_ADMIN.
func SetBusyPoll(FD, time.Duration) error { return syscall.ENOTSUP }

// SetQuickAck turns delayed acknowledgements off for the time being (TCP_QUICKACK: the kernel may turn them on again); syscall.ENOTSUP where there is
// no such option.
func SetQuickAck(FD, bool) error { return syscall.ENOTSUP }

// SetCongestion is Linux's.
func SetCongestion(FD, string) error { return syscall.ENOTSUP }

// SetLatePort is Linux's.
func SetLatePort(FD) error { return syscall.ENOTSUP }
