//go:build !linux

package chaos

import (
	"testing"

	"gofabric/test/need"
)

// twoHosts cannot be made.
func twoHosts(t *testing.T) *ground {
	t.Helper()
	need.Missing(t, "hosts with a cable are made on Linux")
	return nil
}
