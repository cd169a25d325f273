package interop

import (
	"testing"

	"gofabric/core"
)

// TestRXDLossy puts a bad network between ours and native. Either end must retransmit what is lost or late, and drop
// duplicates.
func TestRXDLossy(t *testing.T) {
	for name, value := range map[string]string{"FI_FAULT_LOSS": "1%", "FI_FAULT_DUP": "1%", "FI_FAULT_REORDER": "1%"} {
		t.Setenv(name, value) // the peer does not read these variables
	}
	eachRXD(t, func(t *testing.T, s nativeStack) {
		s.ours = "udp;fault;ofi_rxd"
		l, _ := rxdLink(t, s)
		l.both(func(from, to end) { // first, because native cannot fetch after its long messages (docs/wire/rxd.md)
			for range 20 {
				l.atomic(from, to, "fetch", atom{core.Uint32, core.AtomicSum, 4}, 1)
			}
		})
		l.both(func(from, to end) {
			for range 3 {
				l.pileUp(to, true, 2000)
				l.pileUp(from, false, 1000)
				l.piledUp(from, false, 1000)
				l.piledUp(to, true, 2000)
			}
			for _, n := range []int{1, 1408, 30000, 300000} {
				l.message(from, to, op{call: "tsend"}, n, n == 30000)
				l.write(from, to, place(op{call: "writemsg", flags: core.OpRemoteCQData, data: 3, segs: segments(3)},
					n))
				l.read(from, to, place(op{call: "readmsg", segs: segments(3)}, n))
			}
		})
	})
}
