package rxd_test

import (
	"os"
	"testing"

	"gofabric/test/duo"
)

// TestMain has large messages go in datagrams: copies from process to process are measured with tcp.
func TestMain(m *testing.M) {
	os.Setenv("FI_OFI_RXD_SINGLE_COPY_SIZE", "-1") // before anything looks there
	os.Exit(m.Run())
}

func TestNoAllocation(t *testing.T) { duo.NoAllocation(t, "udp;ofi_rxd") }
