package netx

import (
	"errors"
	"syscall"
)

// OutOfResources reports that a call failed because descriptors or memory have run out. After a failed accept the
// connection still waits.
func OutOfResources(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}
