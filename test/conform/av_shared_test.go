package conform_test

import (
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
)

// Two processes of a host share a vector.

func TestSharedAVTCP(t *testing.T) {
	st := conform.Over(t, conform.Stack{Name: "tcp-rdm", Provider: "tcp",
		EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, nil)
	conform.SharedAV(t, st, "TestSharedAVTCP")
}

func TestSharedAVRXD(t *testing.T) {
	conform.SharedAV(t, conform.RXD(t, "udp-rxd", "udp;ofi_rxd"), "TestSharedAVRXD")
}
