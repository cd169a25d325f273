//go:build !linux

package conform

import "testing"

// checkClass cannot look at the sockets of the process here.
func checkClass(*testing.T, *Pair) {}
