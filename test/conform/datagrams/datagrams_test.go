// Package datagrams runs the conformance suite over reliable datagrams.
package datagrams

import (
	"testing"

	"gofabric/test/conform"
)

func TestMain(m *testing.M) { conform.Main(m) }

func TestRXD(t *testing.T) {
	conform.Elsewhere(t, "package features runs the suite over this stack")
	conform.Run(t, conform.RXD(t, "udp-rxd", "udp;ofi_rxd"))
}

// TestRXDDatagrams has large messages go in datagrams, too.
func TestRXDDatagrams(t *testing.T) {
	conform.Elsewhere(t, "package faults has everything go in datagrams")
	conform.Run(t, conform.RXD(t, "udp-rxd-datagrams", "udp;ofi_rxd", "FI_OFI_RXD_SINGLE_COPY_SIZE", "-1"))
}

// TestRXDNative has both ends speak native's format. A native peer does not say that it refuses an access: the initiator gives it up in the end.
func TestRXDNative(t *testing.T) {
	st := conform.RXD(t, "udp-rxd-native", "udp;ofi_rxd", "FI_OFI_RXD_EXTENSIONS", "0", "FI_OFI_RXD_PEER_TIMEOUT", "400")
	st.NoEmptyReads, st.Foreign = true, true
	conform.Run(t, st)
}
