// The race detector allocates, so this test is not built with it.

//go:build !race

package allocs

import (
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
)

func TestMain(m *testing.M) { conform.Main(m) }

func over(t *testing.T, provider string, params map[string]string) {
	conform.NoAllocation(t, conform.Over(t,
		conform.Stack{Name: provider, Provider: provider, EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, params))
}

func TestTCP(t *testing.T) { over(t, "tcp", nil) }
func TestRXM(t *testing.T) { over(t, "tcp;ofi_rxm", nil) }
func TestRXD(t *testing.T) { over(t, "udp;ofi_rxd", nil) }

// The same over streams without single copies.
func TestTCPStream(t *testing.T) {
	over(t, "tcp", map[string]string{"FI_TCP_SINGLE_COPY_SIZE": "-1", "FI_TCP_LOCAL_SOCKETS": "0"})
}
func TestRXMStream(t *testing.T) {
	over(t, "tcp;ofi_rxm", map[string]string{"FI_OFI_RXM_SINGLE_COPY_SIZE": "-1",
		"FI_TCP_SINGLE_COPY_SIZE": "-1", "FI_TCP_LOCAL_SOCKETS": "0"})
}
func TestRXDDatagrams(t *testing.T) {
	over(t, "udp;ofi_rxd", map[string]string{"FI_OFI_RXD_SINGLE_COPY_SIZE": "-1"})
}
