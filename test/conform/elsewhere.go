package conform

import (
	"testing"

	"gofabric/test/need"
)

// Elsewhere skips a test that a plain run of all tests runs in another package, or has no time for. why says which.
// The test runs with GOFABRIC_MANY, and with -short, which does not run package features.
func Elsewhere(t *testing.T, why string) {
	t.Helper()
	if !need.Many() && !testing.Short() {
		t.Skip(why + "; set GOFABRIC_MANY")
	}
}
