//go:build linux

// Package xdp runs the conformance suite over AF_XDP: the two sides are at the ends of a cable, in one process.
package xdp

import (
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/neigh"
	"gofabric/internal/xdp"
	"gofabric/test/conform"
	"gofabric/test/veth"
)

func TestMain(m *testing.M) { conform.Main(m) }

const (
	enough   = 50          // frames that each end must receive in one run of the suite, and send in as many as there is time for
	patience = time.Minute // to begin another run
)

const near, far = "10.96.0.1", "10.96.0.2"

// over runs the suite over st, whose sides are at the ends of a cable, with FI_* variables.
func over(t *testing.T, st conform.Stack, vars map[string]string) {
	if testing.Short() {
		t.Skip("the suite over the same stacks without AF_XDP is in other packages")
	}
	if !veth.Inside() {
		veth.Circle(t, 96).Rerun(t)
		return
	}
	table, err := neigh.Open() // what it knows of neighbours stays, too: first datagrams to unknown ones go through sockets
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var ends []*xdp.Interface
	for _, name := range []string{veth.OtherEnd, veth.End} { // they stay open between tests: to make their memory takes longer than most of these do
		i, err := xdp.Open(name, xdp.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		ends = append(ends, i)
	}
	st.Node, st.NodeB = near, far
	vars["FI_UDP_LINK"] = "xdp"
	st = conform.Over(t, st, vars)
	for deadline := time.Now().Add(patience); ; {
		conform.Run(t, st)
		few := false
		for _, i := range ends {
			received, sent := i.Traffic()
			t.Logf("%v: %d frames received, %d sent", i, received, sent)
			few = few || sent < enough
			if received < enough || sent < enough && time.Now().After(deadline) {
				t.Fatalf("only %d frames were received by AF_XDP on %s, %d sent", received, i.Name(), sent)
			}
		}
		if !few || t.Failed() {
			return
		}
		// An endpoint sends through the socket until it has been told the way to a peer; where no processor is free for that, most tests are over before.
	}
}

// TestDatagrams has the udp provider's own endpoints.
func TestDatagrams(t *testing.T) {
	over(t, conform.Stack{Name: "udp-xdp", Provider: "udp", EPType: core.EPTypeDgram, Caps: core.CapMsg}, map[string]string{})
}

// TestReliable has rxd above it; nothing goes around the cable, runs of datagrams neither.
func TestReliable(t *testing.T) {
	over(t, conform.Stack{Name: "udp-xdp-rxd", Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM, Caps: conform.RXDCaps},
		map[string]string{"FI_UDP_GSO": "0", "FI_OFI_RXD_SINGLE_COPY_SIZE": "-1", "FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_PEER_TIMEOUT": "3000"})
}
