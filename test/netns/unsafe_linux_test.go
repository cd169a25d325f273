//go:build linux

package netns

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noXDPVar makes a node run as on a kernel without AF_XDP.
const noXDPVar = "NETNS_NO_XDP"

// forbidXDP makes socket(2) fail for AF_XDP in all threads of this process, as a kernel without AF_XDP does
// (seccomp(2)).
func forbidXDP() error {
	// These are offsets in struct seccomp_data: the system call, and the lower half of its first argument
	// (little-endian).
	const number, family = 0, 16
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: family},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_XDP, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	if fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW, 0); err != unix.EAFNOSUPPORT {
		return fmt.Errorf("an AF_XDP socket: %d, %v", fd, err)
	}
	return nil
}
