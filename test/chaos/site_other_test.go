//go:build !linux

package chaos

import (
	"testing"

	"gofabric/test/need"
)

// twoHosts skips the test: there are no network namespaces here.
func twoHosts(t *testing.T) *site {
	t.Helper()
	need.Missing(t, "two hosts with a veth pair exist on Linux only")
	return nil
}
