//go:build unix

package netx

import (
	"math"

	"golang.org/x/sys/unix"
)

// iovec is a buffer in the kernel's form.
type iovec = unix.Iovec

// iovecMax is the longest buffer, bytes.
const iovecMax = math.MaxInt
