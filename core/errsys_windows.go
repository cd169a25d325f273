package core

import (
	"syscall"

	"gofabric/internal/wsa"
)

// posix is the number of an error's POSIX name, by which package syscall knows it.
func posix(s syscall.Errno) syscall.Errno { return wsa.Errno(s) }

// otherErrno is libfabric's number for one that sysErrnos has not.
func otherErrno(syscall.Errno) Errno { return ErrOther }
