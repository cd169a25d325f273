// What a descriptor is, and how it ends.

package netx

import "golang.org/x/sys/unix"

// FD is a file descriptor. It has no finalizer: its owner closes it.
type FD int

// NoFD is no descriptor.
const NoFD FD = -1

// Close gives the descriptor back. It is never retried: on Linux the number is free again even when close(2) reports EINTR.
func Close(fd FD) error { return unix.Close(int(fd)) }

// Shutdown ends one or both directions of a connected socket; how is unix.SHUT_RD, SHUT_WR or SHUT_RDWR.
func Shutdown(fd FD, how int) error { return unix.Shutdown(int(fd), how) }
