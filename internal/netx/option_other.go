//go:build !linux

// Socket options that only Linux has.

package netx

import (
	"syscall"
	"time"
)

// SetRetransmitMin fails: only Linux has the option.
func SetRetransmitMin(FD, time.Duration) error { return syscall.ENOTSUP }

// SetBusyPoll makes receives on the socket poll the device for up to d before they give up (SO_BUSY_POLL).
// syscall.ENOTSUP: the system has no such option. syscall.EPERM: raising the time needs CAP_NET_ADMIN.
func SetBusyPoll(FD, time.Duration) error { return syscall.ENOTSUP }

// SetQuickAck turns delayed acknowledgements off, until the kernel turns them on again (TCP_QUICKACK).
// syscall.ENOTSUP: the system has no such option.
func SetQuickAck(FD, bool) error { return syscall.ENOTSUP }

// SetCongestion fails: only Linux has the option.
func SetCongestion(FD, string) error { return syscall.ENOTSUP }

// SetLatePort fails: only Linux has the option.
func SetLatePort(FD) error { return syscall.ENOTSUP }
