package session

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// TestResetLost checks that a peer learns soon that its connection has ended, although several resets are lost, and
// that a reset is never answered.
func TestResetLost(t *testing.T) {
	n := newWorld(t, 1)
	a, b := n.add(1, nil), n.add(2, nil)
	b.recv(make([]byte, 100), 1)
	a.post(b, msg(1, pattern(100, 1)))
	if !n.run(second, func() bool { return b.count(xengine.KindRecv) == 1 }) {
		t.Fatal(a.errs(), b.errs())
	}
	n.run(second, nil)
	resets := 0
	n.Tap = func(from, _ int, pkt []byte) {
		var h wire.XHeader
		n.Down = false
		if _, err := h.Parse(pkt); from == b.host && err == nil && h.Type == wire.XReset {
			resets++
			n.Down = resets <= 3 // lost
		}
	}
	b.e.findPeer(a.addr).fail(xengine.ErrAccess)
	a.post(b, msg(2, pattern(100, 1)))
	if !n.run(second, func() bool { return len(a.failed) > 0 }) {
		t.Errorf("no connection has failed after %d resets", resets)
	}
	if resets < 4 {
		t.Errorf("%d resets", resets)
	}
	// A reset is not answered. Otherwise two ends without a connection would send resets for ever.
	sent := resets
	h := wire.XHeader{Type: wire.XReset, ConnID: b.e.resets.ring[0].id}
	pkt := h.Append(nil)
	wire.PutChecksum(pkt)
	b.e.Receive(n.Now, a.addr, pkt)
	n.run(second, nil)
	if resets != sent {
		t.Errorf("a node answered a reset")
	}
	// The number of remembered resets is bounded.
	for range 3 * resetsKept {
		b.e.resets.push(sentReset{})
	}
	if len(b.e.resets.ring) != resetsKept {
		t.Errorf("%d resets are remembered", len(b.e.resets.ring))
	}
	n.Tap = nil
	a.close()
	b.close()
}
