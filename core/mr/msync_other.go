//go:build !linux && !darwin

package mr

import "golang.org/x/sys/unix"

// msync is not to be had here.
func msync(at, n uintptr) unix.Errno { return unix.ENOSYS }
