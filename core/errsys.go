package core

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// sysErrnos pairs the platform's error numbers with libfabric's, which are Linux's on every platform. Numbers that
// are not in this table are equal on Linux.
var sysErrnos = map[syscall.Errno]Errno{
	syscall.EPERM: ErrPerm, syscall.ENOENT: ErrNoEnt, syscall.EINTR: ErrIntr, syscall.EIO: ErrIO, syscall.E2BIG: Err2Big,
	syscall.EBADF: ErrBadF, syscall.EAGAIN: ErrAgain, syscall.ENOMEM: ErrNoMem, syscall.EACCES: ErrAccess, syscall.EFAULT: ErrFault,
	syscall.EBUSY: ErrBusy, syscall.ENODEV: ErrNoDev, syscall.EINVAL: ErrInval, syscall.EMFILE: ErrMFile, syscall.ENOSPC: ErrNoSpc,
	syscall.ENOSYS: ErrNoSys, syscall.ENOMSG: ErrNoMsg, syscall.EPROTO: ErrProto,
	syscall.EOVERFLOW: ErrOverflow, syscall.EMSGSIZE: ErrMsgSize, syscall.ENOPROTOOPT: ErrNoProtoOpt, syscall.EOPNOTSUPP: ErrOpNotSupp,
	syscall.EADDRINUSE: ErrAddrInUse, syscall.EADDRNOTAVAIL: ErrAddrNotAvail, syscall.ENETDOWN: ErrNetDown,
	syscall.ENETUNREACH: ErrNetUnreach, syscall.ECONNABORTED: ErrConnAborted, syscall.ECONNRESET: ErrConnReset,
	syscall.ENOBUFS: ErrNoBufs, syscall.EISCONN: ErrIsConn, syscall.ENOTCONN: ErrNotConn, syscall.ESHUTDOWN: ErrShutdown,
	syscall.ETIMEDOUT: ErrTimedOut, syscall.ECONNREFUSED: ErrConnRefused, syscall.EHOSTDOWN: ErrHostDown,
	syscall.EHOSTUNREACH: ErrHostUnreach, syscall.EALREADY: ErrAlready, syscall.EINPROGRESS: ErrInProgress,
	syscall.ECANCELED: ErrCanceled,
	// libfabric has no names for these, but passes them through from sockets. The numbers are Linux's.
	syscall.EPIPE: 32, syscall.ENFILE: 23, syscall.EEXIST: 17, syscall.EAFNOSUPPORT: 97, syscall.EDESTADDRREQ: 89,
}

// FromSyscall returns libfabric's number for an error number of the system. Zero is 0. A number without a
// counterpart is ErrOther, except on Linux, where the numbers are the same.
func FromSyscall(s syscall.Errno) Errno {
	if s == 0 {
		return 0
	}
	if e, ok := sysErrnos[posix(s)]; ok {
		return e
	}
	return otherErrno(s)
}

// ErrnoOf returns the error number in err's chain: an Errno, a system error number, or the number for an ended
// context or deadline. nil is 0. An error without a number is ErrOther.
func ErrnoOf(err error) Errno {
	var e Errno
	var s syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e
	case errors.As(err, &s):
		return FromSyscall(s)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ErrTimedOut
	case errors.Is(err, context.Canceled):
		return ErrCanceled
	}
	return ErrOther
}

// Is makes errors.Is(err, syscall.EADDRINUSE) true for ErrAddrInUse on every platform, and likewise for the others.
func (e Errno) Is(target error) bool {
	s, ok := target.(syscall.Errno)
	return ok && s != 0 && FromSyscall(s) == e && e != ErrOther
}
