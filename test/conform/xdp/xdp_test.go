//go:build linux

// Package xdp runs the conformance suite over AF_XDP. The two sides are in one process, at the ends of a veth pair.
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
	// enough is how many frames each end must receive in one run of the suite. Runs repeat until it has sent as
	// many, while there is time.
	enough   = 50
	patience = time.Minute // after this time no further run begins
)

const near, far = "10.96.0.1", "10.96.0.2"

// over runs the suite over st, whose sides are at the ends of a veth pair, with FI_* variables.
func over(t *testing.T, st conform.Stack, vars map[string]string) {
	if testing.Short() {
		t.Skip("other packages run the suite over the same stacks without AF_XDP")
	}
	if !veth.Inside() {
		veth.Circle(t, 96).Rerun(t)
		return
	}
	table, err := neigh.Open() // keeps the neighbours resolved: first datagrams to unknown ones use sockets
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var ends []*xdp.Interface
	// They stay open between tests, because allocating their memory takes longer than most tests.
	for _, name := range []string{veth.OtherEnd, veth.End} {
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
		// An endpoint sends through the socket until it has the route to a peer. If no processor is free for that,
		// most tests end before.
	}
}

// TestDatagrams runs the endpoints of the udp provider.
func TestDatagrams(t *testing.T) {
	over(t, conform.Stack{Name: "udp-xdp", Provider: "udp", EPType: core.EPTypeDgram, Caps: core.CapMsg},
		map[string]string{})
}

// TestReliable runs rxd on top. All traffic uses the veth pair, GSO batches too.
func TestReliable(t *testing.T) {
	over(t, conform.Stack{Name: "udp-xdp-rxd", Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM, Caps: conform.RXDCaps},
		map[string]string{"FI_UDP_GSO": "0", "FI_OFI_RXD_SINGLE_COPY_SIZE": "-1",
			"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_PEER_TIMEOUT": "3000"})
}
