package core

import "syscall"

// posix is the number of an error's POSIX name: the system has no others.
func posix(s syscall.Errno) syscall.Errno { return s }

// otherErrno is libfabric's number for one that sysErrnos has not: the same, as far as they are Linux's.
func otherErrno(s syscall.Errno) Errno {
	if s < 256 {
		return Errno(s)
	}
	return ErrOther
}
