package cma

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cloneArgs is struct clone_args (clone3(2)).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// double makes a copy of this process. The copy waits until its parent has died and was reaped, and then makes
// another copy with the PID of the parent. Copies of a Go process have one thread and can run little of its code,
// so they make raw system calls only.
func double() {
	pid := int32(unix.Getpid())
	again := &cloneArgs{exitSignal: uint64(unix.SIGCHLD), setTID: uint64(uintptr(unsafe.Pointer(&pid))), setTIDSize: 1}
	nap := &unix.Timespec{Nsec: 1e6}
	sleep := func() { syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(nap)), 0, 0) }
	first := &cloneArgs{exitSignal: uint64(unix.SIGCHLD)}
	if n, _, err := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(first)), unsafe.Sizeof(*first),
		0); n != 0 || err != 0 {
		return
	}
	for range 30000 {
		if n, _, err := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(again)), unsafe.Sizeof(*again),
			0); err == 0 && n == 0 {
			for range 30000 { // until the test kills it
				sleep()
			}
			break
		} else if err == 0 {
			break
		}
		sleep() // EEXIST: the parent's PID is still in use
	}
	syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
}
