//go:build !linux

package conform

import "testing"

// checkClass cannot read the options of the process' sockets here.
func checkClass(*testing.T, *Pair) {}
