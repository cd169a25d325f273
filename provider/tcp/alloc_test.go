package tcp_test

import (
	"testing"

	"gofabric/core"
	"gofabric/test/duo"
)

func TestNoAllocation(t *testing.T) { duo.NoAllocation(t, "tcp") }

// pair returns two sides of tcp that know each other.
func pair(t testing.TB, mem []byte) (a, b *duo.Side) {
	t.Helper()
	return duo.Pair(t, "tcp", core.EPTypeRDM, mem)
}
