//go:build !fabricbasic

// The one file with unsafe: raw system calls. None of them blocks except sysEpollWait with a timeout, which tells the scheduler.
//
// The pointers are converted in the argument list of the call, and RawSyscall6 and Syscall6 keep what they point to alive and in place for its
// duration (rule 4 of unsafe.Pointer). None of the callees grows the stack in between, so stack variables are fine too.

package netx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forward is p+n: the n-th byte of the buffer that p points into.
func forward(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

func sysRecv(fd FD, b []byte) (int, unix.Errno) {
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return count(n, err)
}

func sysSend(fd FD, b []byte, more bool) (int, unix.Errno) {
	n, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), sendFlags(more), 0, 0)
	return count(n, err)
}

func sysRecvmsg(fd FD, vec []unix.Iovec) (int, unix.Errno) {
	var h unix.Msghdr
	h.Iov = unsafe.SliceData(vec)
	h.SetIovlen(len(vec))
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), unix.MSG_DONTWAIT, 0, 0, 0)
	return count(n, err)
}

func sysSendmsg(fd FD, vec []unix.Iovec, more bool) (int, unix.Errno) {
	var h unix.Msghdr
	h.Iov = unsafe.SliceData(vec)
	h.SetIovlen(len(vec))
	n, _, err := syscall.RawSyscall6(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), sendFlags(more), 0, 0, 0)
	return count(n, err)
}

func sendFlags(more bool) uintptr {
	if more {
		return unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT | unix.MSG_MORE
	}
	return unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT
}

// sysEpollWait waits for ms milliseconds, for ever when negative; with 0 it is a raw call. epoll_pwait, because arm64 has no epoll_wait.
func sysEpollWait(ep FD, evs []unix.EpollEvent, ms int) (int, unix.Errno) {
	var n uintptr
	var err unix.Errno
	if ms == 0 {
		n, _, err = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(evs))), uintptr(len(evs)), 0, 0, 0)
	} else {
		n, _, err = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(evs))), uintptr(len(evs)), uintptr(ms), 0, 0)
	}
	return count(n, err)
}

func sysEpollCtl(ep FD, op int, fd FD, ev *unix.EpollEvent) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(ep), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(ev)), 0, 0)
	return err
}

// sysTimerSet arms a timerfd to fire once.
func sysTimerSet(fd FD, spec *unix.ItimerSpec) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(fd), 0, uintptr(unsafe.Pointer(spec)), 0, 0, 0)
	return err
}

// sysCounterAdd adds one to an eventfd.
func sysCounterAdd(fd FD) unix.Errno {
	one := uint64(1)
	_, _, err := syscall.RawSyscall6(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one), 0, 0, 0)
	return err
}

// sysCounterTake reads an eventfd back to zero.
func sysCounterTake(fd FD) unix.Errno {
	var n uint64
	_, _, err := syscall.RawSyscall6(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&n)), unsafe.Sizeof(n), 0, 0, 0)
	return err
}

// count is a system call's result, which is meaningless when it failed.
func count(n uintptr, err unix.Errno) (int, unix.Errno) {
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}
