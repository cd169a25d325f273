package interop

import (
	"bytes"
	"fmt"
	"testing"

	"gofabric/core"
	"gofabric/internal/atomics"
	"gofabric/test/need"
)

// Reliable datagrams over connections: native's packets (util/rxm/wire) with a native peer.

const (
	rxm       = "tcp;ofi_rxm"
	rxmInject = 64 // the longest message that native injects
)

func TestRXMItself(t *testing.T) {
	t.Parallel()
	check(t, ofi, defaultSizes, roundTrips(), "-p", rxm, "-e", "rdm")
}

func TestDebianRXM(t *testing.T) {
	t.Parallel()
	checkAll(t, debian(t), rxm, "rdm", "msg", "tagged")
}

func TestNative2RXM(t *testing.T) {
	t.Parallel()
	checkAll(t, native2(t), rxm, "rdm", "msg", "tagged")
}

// eachRXM runs f over the native libraries that are installed.
func eachRXM(t *testing.T, f func(t *testing.T, s nativeStack)) {
	for _, s := range []struct {
		name    string
		missing func(t *testing.T) peerProgram
	}{{"debian", needDebian}, {"native 2", needNative2}} {
		t.Run(s.name, func(t *testing.T) {
			f(t, nativeStack{name: s.name, kind: core.EPTypeRDM, provider: rxm, program: s.missing(t)})
		})
	}
}

// rxmSizes are around the limits of messages that travel in a packet, in segments, or by rendezvous.
var rxmSizes = []int{0, 1, 63, 64, 4095, 4096, 4097, 16383, 16384, 16385, 32768, 32769,
	131071, 131072, 131073, 1<<20 + 3}

// TestRXMTransfers runs all calls in all sizes. Each end is the initiator and the target, and each connects once.
func TestRXMTransfers(t *testing.T) {
	t.Parallel()
	eachRXM(t, func(t *testing.T, s nativeStack) {
		eachDirection(t, func(t *testing.T, oursConnects bool) {
			l := s.link(t, 1)
			l.join(l.natives[0], oursConnects, nil, nil)
			l.sizesOf = rxmSizes
			l.transfers()
		})
	})
}

// TestRXMWrites makes both ends transfer announced messages by writes instead of reads.
func TestRXMWrites(t *testing.T) {
	t.Setenv("FI_OFI_RXM_USE_RNDV_WRITE", "1") // for the peer, too
	t.Setenv("FI_OFI_RXM_SAR_LIMIT", "16384")
	eachRXM(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		l.join(l.natives[0], true, nil, nil)
		l.sizesOf = rxmSizes[7:]
		l.transfers()
	})
}

// TestRXMUnexpected posts receives after the messages, in another order than the sends.
func TestRXMUnexpected(t *testing.T) {
	t.Parallel()
	eachRXM(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		l.join(l.natives[0], true, nil, nil)
		l.unexpected()
	})
}

// TestRXMParallel has both ends send their first message at the same time. One of two connections survives, and both
// messages arrive.
func TestRXMParallel(t *testing.T) {
	t.Parallel()
	eachRXM(t, func(t *testing.T, s nativeStack) {
		for range 5 {
			l := s.link(t, 1)
			l.together()
		}
	})
}

// TestRXMAtomics runs each operation in both directions, in one and in two segments, and compares native's results
// with ours.
func TestRXMAtomics(t *testing.T) {
	t.Parallel()
	eachRXM(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		n := l.natives[0]
		l.join(n, true, nil, nil)
		l.lacking(n)
		for _, c := range atomicCalls {
			for _, dt := range atomicTypes {
				for op := core.AtomicMin; op <= core.AtomicMSwap; op++ {
					if !atomics.Valid(c.kind, atomics.Datatype(dt), atomics.Op(op)) {
						continue
					}
					a := atom{dt, op, atomics.Size(atomics.Datatype(dt))}
					ok := l.sub(fmt.Sprintf("%s %v %v", c.call, dt, op), func() {
						theirs := l.atomic(l.ours, n, c.call, a, 1)
						if mine := l.atomic(n, l.ours, c.call, a, 1); !bytes.Equal(mine, theirs) {
							l.t.Errorf("native computes %x, we %x", theirs, mine)
						}
					})
					if !ok {
						return
					}
				}
			}
		}
	})
}

// TestRXMAuxConns has peers with several connections (FI_OFI_RXM_NUM_MSG_EPS, in native since 2.6), at both ends or at
// one. Each end connects once, and all calls in all sizes work. All combinations run with GOFABRIC_MANY only.
func TestRXMAuxConns(t *testing.T) {
	for _, ends := range []struct {
		ours, theirs string
		conns        int
	}{{"3", "3", 3}, {"1", "3", 1}, {"3", "1", 1}, {"4", "2", 2}} {
		for _, vars := range []string{"", "FI_OFI_RXM_USE_RNDV_WRITE=1"} {
			t.Run(fmt.Sprintf("%s and %s %s", ends.ours, ends.theirs, vars), func(t *testing.T) {
				if few := ends.ours == "3" && ends.theirs == "3" && vars == "" || ends.ours == "4" &&
					vars != ""; !few && !need.Many() {
					t.Skip("one of many combinations: set GOFABRIC_MANY")
				}
				t.Setenv("FI_OFI_RXM_NUM_MSG_EPS", ends.ours)
				if vars != "" {
					t.Setenv("FI_OFI_RXM_USE_RNDV_WRITE", "1")
				}
				eachRXM(t, func(t *testing.T, s nativeStack) {
					s.program.env = append(s.program.env[:len(s.program.env):len(s.program.env)],
						"FI_OFI_RXM_NUM_MSG_EPS="+ends.theirs)
					eachDirection(t, func(t *testing.T, oursConnects bool) {
						l := s.link(t, 1)
						l.join(l.natives[0], oursConnects, nil, nil)
						l.sizesOf = []int{64, 131072, 131073} // in a packet, in segments, by rendezvous
						for range 2 {                         // connections are made while there are transfers
							l.transfers()
						}
						if n := l.ours.ep.Driver().(interface{ Connections() int }).Connections(); s.name != "debian" && n != ends.conns {
							t.Errorf("%d connections, want %d", n, ends.conns)
						}
					})
				})
			})
		}
	}
}
