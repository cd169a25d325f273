//go:build !linux || fabricbasic

package shm

import "golang.org/x/sys/unix"

// Possible says whether there is such memory on this system: memory that cannot be taken away again is Linux's.
const Possible = false

// Create fails with unix.ENOSYS, and so does Open.
func Create() (*Rings, int, error) { return nil, -1, unix.ENOSYS }

// Open fails.
func Open(int) (*Rings, error) { return nil, unix.ENOSYS }

// Close does nothing.
func (r *Rings) Close() error { return nil }
