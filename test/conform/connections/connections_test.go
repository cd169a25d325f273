// Package connections runs the conformance suite over reliable datagrams on connections.
package connections

import (
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
)

func TestMain(m *testing.M) { conform.Main(m) }

// stack returns tcp;ofi_rxm with variables set.
func stack(t *testing.T, name string, vars map[string]string) conform.Stack {
	return conform.Over(t, conform.Stack{Name: name, Provider: "tcp;ofi_rxm",
		EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, vars)
}

func TestRXM(t *testing.T) {
	conform.Elsewhere(t, "package features runs the suite over this stack")
	conform.RunParallel(t, stack(t, "tcp-rxm", nil))
}

func TestRXMOneDomain(t *testing.T) {
	st := stack(t, "tcp-rxm-one-domain", nil)
	st.OneDomain = true
	conform.RunParallel(t, st)
}

// TestRXMRendezvous has large tagged messages wait at the sender, without single copies.
func TestRXMRendezvous(t *testing.T) {
	conform.RunParallel(t, stack(t, "tcp-rxm-rendezvous",
		map[string]string{"FI_OFI_RXM_RENDEZVOUS_SIZE": "16384", "FI_OFI_RXM_SINGLE_COPY_SIZE": "-1"}))
}

// TestRXMNative has both ends use native's packets.
func TestRXMNative(t *testing.T) {
	st := stack(t, "tcp-rxm-native", map[string]string{"FI_OFI_RXM_EXTENSIONS": "0"})
	st.Overtakes, st.Foreign = true, true
	conform.RunParallel(t, st)
}

// TestRXMNativeWrites transfers announced messages by writes instead of reads.
func TestRXMNativeWrites(t *testing.T) {
	st := stack(t, "tcp-rxm-native-writes",
		map[string]string{"FI_OFI_RXM_EXTENSIONS": "0", "FI_OFI_RXM_USE_RNDV_WRITE": "1",
			"FI_OFI_RXM_SAR_LIMIT": "16384"})
	st.Overtakes, st.Foreign = true, true
	conform.RunParallel(t, st)
}
