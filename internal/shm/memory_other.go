//go:build !linux || fabricbasic

package shm

import "syscall"

// Possible reports whether this system has such memory. Only Linux has memory that cannot be taken away.
const Possible = false

// Create fails with syscall.ENOSYS, and so does Open.
func Create() (*Rings, int, error) { return nil, -1, syscall.ENOSYS }

// Open fails.
func Open(int) (*Rings, error) { return nil, syscall.ENOSYS }

// Close does nothing.
func (r *Rings) Close() error { return nil }
