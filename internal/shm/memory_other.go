//go:build !linux || fabricbasic

package shm

import "golang.org/x/sys/unix"

// Possible says whether there is such memory on this system: memory that cannot be taken away again is Linux's.
const Possible = false

// Create fails with unix.ENOSYS, and so does Open.
func Create() (*End, int, error) { return nil, -1, unix.ENOSYS }

// Open fails.
func Open(int) (*End, error) { return nil, unix.ENOSYS }

// Close does nothing.
func (e *End) Close() error { return nil }
