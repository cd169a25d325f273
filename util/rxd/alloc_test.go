package rxd_test

import (
	"os"
	"testing"

	"gofabric/test/duo"
)

// TestMain has large messages travel in datagrams. The tests of tcp measure single copies.
func TestMain(m *testing.M) {
	os.Setenv("FI_OFI_RXD_SINGLE_COPY_SIZE", "-1") // before the variable is read
	os.Exit(m.Run())
}

func TestNoAllocation(t *testing.T) { duo.NoAllocation(t, "udp;ofi_rxd") }
