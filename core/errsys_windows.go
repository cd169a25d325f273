package core

import (
	"syscall"

	"gofabric/internal/wsa"
)

// posix returns the number of an error's POSIX name, which package syscall uses.
func posix(s syscall.Errno) syscall.Errno { return wsa.Errno(s) }

// otherErrno returns libfabric's number for a system error that is not in sysErrnos.
func otherErrno(syscall.Errno) Errno { return ErrOther }
