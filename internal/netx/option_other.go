//go:build !linux

// Socket options that only Linux has.

package netx

import (
	"syscall"
	"time"
)

// SetRetransmitMin fails: only Linux has the option.
func SetRetransmitMin(FD, time.Duration) error { return syscall.ENOTSUP }

// SetCongestion fails: only Linux has the option.
func SetCongestion(FD, string) error { return syscall.ENOTSUP }

// SetLatePort fails: only Linux has the option.
func SetLatePort(FD) error { return syscall.ENOTSUP }
