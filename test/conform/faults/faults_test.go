// Package faults runs the conformance suite over a network that loses, reorders, repeats and corrupts packets.
package faults

import (
	"flag"
	"fmt"
	"testing"

	"gofabric/test/conform"
)

var seed = flag.Int("seed", 7, "seed of the faults")

func TestMain(m *testing.M) { conform.Main(m) }

func TestRXD(t *testing.T) {
	conform.RunParallel(t, conform.RXD(t, "udp-fault-rxd", "udp;fault;ofi_rxd", "FI_FAULT_SEED", fmt.Sprint(*seed),
		"FI_OFI_RXD_PEER_TIMEOUT", "6000", // a few packets in a row are lost, and a busy machine sends few
		"FI_FAULT_LOSS", "5%", "FI_FAULT_REORDER", "5%", "FI_FAULT_DUP", "5%", "FI_FAULT_CORRUPT", "5%"))
}
