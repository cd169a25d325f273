package core

import "syscall"

// posix returns the number of an error's POSIX name. On this system all numbers are those.
func posix(s syscall.Errno) syscall.Errno { return s }

// otherErrno returns libfabric's number for a system error that is not in sysErrnos: the same number, if Linux
// defines it.
func otherErrno(s syscall.Errno) Errno {
	if s < 256 {
		return Errno(s)
	}
	return ErrOther
}
