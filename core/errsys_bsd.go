//go:build darwin || freebsd

package core

import "syscall"

// posix is the number of an error's POSIX name: the system has no others.
func posix(s syscall.Errno) syscall.Errno { return s }

// otherErrno is libfabric's number for one that sysErrnos has not.
func otherErrno(syscall.Errno) Errno { return ErrOther }
