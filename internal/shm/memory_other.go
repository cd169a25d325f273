//go:build !linux || fabricbasic

package shm

import "syscall"

// Possible says whether there is such memory on this system: memory that cannot be taken away again is Linux's.
const Possible = false

// Create fails with syscall.ENOSYS, and so does Open.
func Create() (*Rings, int, error) { return nil, -1, syscall.ENOSYS }

// Open fails.
func Open(int) (*Rings, error) { return nil, syscall.ENOSYS }

// Close does nothing.
func (r *Rings) Close() error { return nil }
