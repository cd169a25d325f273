package conform

import (
	"testing"

	"gofabric/test/need"
)

// Elsewhere skips what a plain run of all tests has in another package, or too little time for; why says which. With GOFABRIC_MANY it runs, and in a short
// run, which is without package features.
func Elsewhere(t *testing.T, why string) {
	t.Helper()
	if !need.Many() && !testing.Short() {
		t.Skip(why + "; set GOFABRIC_MANY")
	}
}
