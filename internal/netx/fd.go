// Descriptors, and the shutdown of connections.

package netx

import "syscall"

// FD is a file descriptor, or on Windows a socket. It has no finalizer: its owner closes it.
type FD int

// NoFD means that there is no descriptor.
const NoFD FD = -1

// Shutdown ends one or both directions of a connected socket. how is syscall.SHUT_RD, SHUT_WR or SHUT_RDWR.
func Shutdown(fd FD, how int) error { return sysErr(syscall.Shutdown(handle(fd), how)) }
