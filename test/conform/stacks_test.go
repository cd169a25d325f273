package conform_test

// The suite over all variants of tcp.

import (
	"os"
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/need"
)

// inFeatures is the reason why the plain stacks do not run here.
const inFeatures = "package features runs the suite over this stack"

func TestMain(m *testing.M) { conform.Main(m) }

func TestTCPMsg(t *testing.T) {
	conform.Elsewhere(t, inFeatures)
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-msg", Provider: "tcp", EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, nil))
}

func TestTCPMsgSRX(t *testing.T) {
	conform.Elsewhere(t, inFeatures)
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-msg-srx", Provider: "tcp", EPType: core.EPTypeMsg,
			SharedRx: true, Caps: conform.RDMCaps}, nil))
}

func TestTCPRDM(t *testing.T) {
	conform.Elsewhere(t, inFeatures)
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, nil))
}

func TestTCPRDMOneDomain(t *testing.T) {
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-rdm-one-domain", Provider: "tcp", EPType: core.EPTypeRDM,
			Caps: conform.RDMCaps, OneDomain: true}, nil))
}

func TestTCPMsgOneDomain(t *testing.T) {
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-msg-one-domain", Provider: "tcp", EPType: core.EPTypeMsg,
			Caps: conform.MsgCaps, OneDomain: true}, nil))
}

func TestTCPRDMIPv6(t *testing.T) {
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		need.Missing(t, "there is no IPv6 on this machine: %v", err)
	}
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-rdm-ipv6", Provider: "tcp", EPType: core.EPTypeRDM,
			Caps: conform.RDMCaps, Node: "::1"}, nil))
}

// TestTCPRDMRendezvous has large tagged messages wait at the sender.
func TestTCPRDMRendezvous(t *testing.T) {
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-rdm-rendezvous", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps},
		map[string]string{"FI_TCP_MAX_SAVED_SIZE": "16384"}))
}

// TestTCPRDMSmallBuffers stages nothing, reads little ahead, and keeps few bytes of unexpected messages.
func TestTCPRDMSmallBuffers(t *testing.T) {
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-rdm-small-buffers", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps},
		map[string]string{"FI_TCP_STAGING_SBUF_SIZE": "0", "FI_TCP_PREFETCH_RBUF_SIZE": "0",
			"FI_TCP_UNEXP_BYTES": "33554432", "FI_TCP_TX_SIZE": "8"}))
}

// single makes messages of every size single copies.
var single = map[string]string{"FI_TCP_SINGLE_COPY_SIZE": "1", "FI_TCP_STAGING_SBUF_SIZE": "0"}

// TestTCPSingleCopy makes messages of every size single copies. The tests above do so with large ones, where the
// system allows it.
func TestTCPSingleCopy(t *testing.T) {
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-rdm-single-copy", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps},
		single))
}

func TestTCPSingleCopyMsg(t *testing.T) {
	conform.Elsewhere(t, "with RDM endpoints all messages are single copies, too")
	conform.RunParallel(t, conform.Over(t,
		conform.Stack{Name: "tcp-msg-single-copy", Provider: "tcp", EPType: core.EPTypeMsg, Caps: conform.MsgCaps},
		single))
}

// TestTCPNoSingleCopy makes no message a single copy.
func TestTCPNoSingleCopy(t *testing.T) {
	conform.Elsewhere(t, "package faults sends everything through sockets")
	none := map[string]string{"FI_TCP_SINGLE_COPY_SIZE": "-1"}
	conform.Run(t, conform.Over(t, conform.Stack{Name: "tcp-msg-no-single-copy", Provider: "tcp", EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, none))
	conform.Run(t, conform.Over(t, conform.Stack{Name: "tcp-rdm-no-single-copy", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, none))
}
