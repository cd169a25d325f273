// Package datagrams runs the conformance suite over reliable datagrams.
package datagrams

import (
	"fmt"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/need"
)

func TestMain(m *testing.M) { conform.Main(m) }

func TestRXD(t *testing.T) {
	conform.Elsewhere(t, "package features runs the suite over this stack")
	conform.RunParallel(t, conform.RXD(t, "udp-rxd", "udp;ofi_rxd"))
}

// TestRXDDatagrams sends large messages in datagrams, too, without single copies.
func TestRXDDatagrams(t *testing.T) {
	conform.Elsewhere(t, "package faults has everything go in datagrams")
	conform.RunParallel(t, conform.RXD(t, "udp-rxd-datagrams", "udp;ofi_rxd", "FI_OFI_RXD_SINGLE_COPY_SIZE", "-1"))
}

// TestRXDMemory sends everything in datagrams through memory that both ends share, from the beginning and whenever
// both poll.
func TestRXDMemory(t *testing.T) {
	conform.RunParallel(t, conform.RXD(t, "udp-rxd-memory", "udp;ofi_rxd", "FI_OFI_RXD_SINGLE_COPY_SIZE", "-1",
		"FI_UDP_LOCAL_MEMORY_AFTER", "1"))
}

// TestRXDNative has both ends use native's packets. A native peer does not report that it refuses an access. The
// initiator gives the access up after a time-out.
func TestRXDNative(t *testing.T) {
	timeout := "400"
	if need.Raced {
		timeout = "1000" // processors are busy for longer here
	}
	st := conform.RXD(t, "udp-rxd-native", "udp;ofi_rxd", "FI_OFI_RXD_EXTENSIONS", "0",
		"FI_OFI_RXD_PEER_TIMEOUT", timeout)
	st.NoEmptyReads, st.Foreign = true, true
	conform.RunParallel(t, st)
}

// TestManualAway has an application with manual progress make no calls for longer than the peer time-out, although the
// peer has answered at once. The endpoint must read the answer before it gives up the peer.
func TestManualAway(t *testing.T) {
	const timeout = time.Second
	for _, ext := range []string{"0", "1"} {
		st := conform.RXD(t, "udp-rxd-away", "udp;ofi_rxd", "FI_OFI_RXD_EXTENSIONS", ext, "FI_OFI_RXD_PEER_TIMEOUT",
			fmt.Sprint(timeout.Milliseconds()))
		t.Run("extensions "+ext, func(t *testing.T) {
			p := conform.Open(t, st,
				conform.WithHints(func(h *core.Info) { h.Domain.DataProgress = core.ProgressManual }))
			p.Ping(1)
			buf := make([]byte, 1000)
			p.Retry("recv", func() error { return p.B.EP.Recv(buf, 0, core.AddrUnspec, 1) })
			p.Retry("send", func() error {
				return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{make([]byte, 1000)}, Addr: p.A.Peer, Ctx: 2},
					core.OpCompletion|core.OpDeliveryComplete)
			})
			es := make([]core.CQEntry, 1)
			for end := time.Now().Add(conform.Deadline); ; {
				n, err := p.B.RxCQ.Read(es)
				if n == 1 {
					break
				}
				if err != core.ErrAgain || time.Now().After(end) {
					t.Fatal(n, err)
				}
			}
			p.B.RxCQ.Read(nil)      // its answer leaves
			time.Sleep(2 * timeout) // that no call is made for so long is what is tested
			p.Want(p.A, 2)
		})
	}
}
