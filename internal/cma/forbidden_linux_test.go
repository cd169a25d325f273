package cma

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/test/need"
)

// forbidden asks the system directly, without this package's code, whether the memory of another process may be
// read. If it may, the test fails.
func forbidden(t *testing.T, pid int, at uint64) {
	t.Helper()
	b := make([]byte, 1)
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(1)
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: 1}}, 0)
	if err != syscall.EPERM && err != syscall.ENOSYS {
		t.Fatalf("Copy failed, and process_vm_readv says %v", err)
	}
	need.Missing(t, "a process may not read its child's memory here: %v", err)
}
