package interop

import (
	"testing"

	"gofabric/core"
)

// This file tests reliable datagrams against testdata/peer.c: everything that the gateway of util/rxd/engine
// translates, in both directions.

// eachRXD runs f over the native libraries that are installed.
func eachRXD(t *testing.T, f func(t *testing.T, s nativeStack)) {
	for _, s := range []struct {
		name    string
		missing func(t *testing.T) peerProgram
	}{{"debian", needDebian}, {"native 2", needNative2}} {
		t.Run(s.name, func(t *testing.T) {
			f(t, nativeStack{name: s.name, kind: core.EPTypeRDM, provider: rxd, program: s.missing(t)})
		})
	}
}

// rxdSizes are around the limits of native's packets: 1,472 bytes less the header of each operation, then 1,440 more
// for each packet.
var rxdSizes = []int{0, 1, 128, 1328, 1329, 1424, 1425, 1432, 1433, 1440, 1441, 1448, 1449, 1456, 1457, 1472, 2848,
	2849, 2856, 2857, 2864, 2865, 2872, 2873,
	65536, 1<<20 + 3}

var rxdFewSizes = []int{1, 65536, 2<<20 + 7}

// TestRXDTransfers runs all calls in all sizes. Each end is the initiator and the target, and each sends first once.
func TestRXDTransfers(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		eachDirection(t, func(t *testing.T, oursConnects bool) {
			l := s.link(t, 1)
			l.join(l.natives[0], oursConnects, nil, nil)
			if l.sizesOf = rxdSizes; !oursConnects {
				l.sizesOf = rxdFewSizes // the limits depend on the sender, not on which end sends first
			}
			l.transfers()
		})
	})
}
