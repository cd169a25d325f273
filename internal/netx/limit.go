package netx

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"
)

// DescriptorLimit is how many descriptors this process may have (RLIMIT_NOFILE, getrlimit(2)).
func DescriptorLimit() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil || l.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(l.Cur)
}

// OutOfResources reports that a call failed because descriptors or memory have run out: after an accept the connection waits still.
func OutOfResources(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}
