package conform

import (
	"os"
	"testing"
)

// Elsewhere skips what a plain run of all tests has in another package, or too little time for; why says which. With GOFABRIC_MANY it runs, and in a short
// run, which is without package features.
func Elsewhere(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("GOFABRIC_MANY") == "" && !testing.Short() {
		t.Skip(why + "; set GOFABRIC_MANY")
	}
}
