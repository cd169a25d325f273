//go:build unix

package netx

import (
	"math"

	"golang.org/x/sys/unix"
)

// DescriptorLimit returns how many descriptors this process may have (RLIMIT_NOFILE, getrlimit(2)).
func DescriptorLimit() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil || l.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(l.Cur)
}
