package gateway

// The gateway relies on its Conn: each operation in the Conn's queue is complete, and stays complete.

import (
	"testing"

	"gofabric/internal/atomics"
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"

	"pgregory.net/rapid"
)

// TestIncompleteOperation checks that an incomplete operation in the queue would end its connection, and have no
// other effect.
func TestIncompleteOperation(t *testing.T) {
	a, _ := newPair(t, Config{})
	a.low.room = 0 // so that it stays in the queue
	a.send(1, pattern(100, 1))
	a.g.next = outgoing{kind: outPacket}
	a.g.fill(1<<16, sendParts)
	if a.failed != errIncomplete || !a.g.dead {
		t.Errorf("%v, %v", a.failed, a.g.dead)
	}
	a.low.room = -1
	a.g.Pump()
	if len(a.low.Out) != 0 {
		t.Error("the gateway sent a packet nevertheless")
	}

}

// splitParts splits b into as many parts as an operation may have, some of them empty.
func splitParts(r *rapid.T, b []byte) (list [][]byte) {
	for range rapid.IntRange(0, xengine.MaxIOV-1).Draw(r, "cuts") {
		n := rapid.SampledFrom([]int{0, 1, 100, 4096, 20000, len(b) / 2}).Draw(r, "piece")
		n = min(n, len(b))
		list, b = append(list, b[:n]), b[n:]
	}
	return append(list, b)
}

// postInPieces posts any operation, with its buffers split in any way.
func postInPieces(r *rapid.T, e *end, ctx uint64) {
	n := rapid.SampledFrom([]int{0, 1, 64, 4095, 4097, 16384, 16385, 65535, 65536, 131072, 131073, 200000}).Draw(r, "size")
	s := sendOf(ctx, splitParts(r, pattern(n, ctx))...)
	s.Ack, s.HasData = rapid.Bool().Draw(r, "ack"), rapid.Bool().Draw(r, "data")
	s.Copy = n <= 4096 && rapid.Bool().Draw(r, "copy")
	s.Fence = rapid.IntRange(0, 9).Draw(r, "fence") == 0
	switch rapid.IntRange(0, 5).Draw(r, "kind") {
	case 0:
		s.Tagged, s.Tag = true, 1
	case 1:
		s.Kind, s.NRMA, s.RMA[0] = xengine.KindWrite, 1, xwire.RMAIov{Len: uint64(n), Key: 7}
		if half := uint64(n) / 2; rapid.Bool().Draw(r, "ranges") {
			s.NRMA, s.RMA[0].Len, s.RMA[1] = 2, half, xwire.RMAIov{Addr: half, Len: uint64(n) - half, Key: 7}
		}
	case 2:
		s.Kind, s.HasData, s.NRMA, s.RMA[0] = xengine.KindRead, false, 1, xwire.RMAIov{Len: uint64(n), Key: 7}
	case 3:
		count := rapid.SampledFrom([]int{1, 7, 1000}).Draw(r, "elements")
		s = atomicOf(ctx, xengine.KindFetch, atomics.Sum, 1<<19, make([]byte, 8*count), nil, make([]byte, 8*count))
	}
	if err := e.up.Submit(&s); err != nil && err != xengine.ErrAgain {
		r.Fatalf("%+v: %v", s, err)
	}
}

// TestWhole posts operations of all kinds with buffers split in all ways, cancels some at any moment, and has Lower
// take a few operations at a time.
func TestWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := newPair(t, Config{RndvWrite: rapid.Bool().Draw(r, "write")})
		a.quiet, b.quiet = true, true
		for i := range uint64(200) {
			b.post(i, make([]byte, 16)) // the beginning of a long message
			b.postTagged(i, 1, make([]byte, 200000))
			a.post(i, make([]byte, 16))
		}
		a.low.Lazy = rapid.Bool().Draw(r, "lazy")
		n := uint64(0)
		for range rapid.IntRange(1, 50).Draw(r, "steps") {
			switch rapid.IntRange(0, 4).Draw(r, "what") {
			case 0, 1:
				n++
				postInPieces(r, a, n)
			case 2:
				a.up.Cancel(rapid.Uint64Range(1, n+1).Draw(r, "cancel"))
			case 3:
				a.low.room = rapid.IntRange(-1, 2).Draw(r, "room")
				a.g.Pump()
			case 4:
				for range rapid.IntRange(1, 5).Draw(r, "frames") {
					a.deliver()
					b.deliver()
				}
			}
		}
		a.low.room = -1
		settle(a, b)
		if a.failed != nil || b.failed != nil {
			r.Fatalf("%v, %v", a.failed, b.failed)
		}
		clean(a, b)
	})
}
