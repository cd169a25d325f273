package tcp_test

import (
	"testing"

	"gofabric/core"
	"gofabric/test/duo"
)

func TestNoAllocation(t *testing.T) { duo.NoAllocation(t, "tcp") }

// pair returns two endpoints of tcp that have each other in their address vectors.
func pair(t testing.TB, mem []byte) (a, b *duo.Side) {
	t.Helper()
	return duo.Pair(t, "tcp", core.EPTypeRDM, mem)
}
