package engine

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// TestLastWordLost: a peer hears soon that its connection has ended, though it is told several times in vain; and nobody answers a last word.
func TestLastWordLost(t *testing.T) {
	n := newWorld(t, 1)
	a, b := n.add(1, nil), n.add(2, nil)
	b.recv(make([]byte, 100), 1)
	a.post(b, msg(1, pattern(100, 1)))
	if !n.run(second, func() bool { return b.count(xengine.KindRecv) == 1 }) {
		t.Fatal(a.errs(), b.errs())
	}
	n.run(second, nil)
	told := 0
	n.Tap = func(from, _ int, pkt []byte) {
		var h wire.XHeader
		n.Down = false
		if _, err := h.Parse(pkt); from == b.host && err == nil && h.Type == wire.XReset {
			told++
			n.Down = told <= 3 // lost
		}
	}
	b.e.find(a.addr).fail(xengine.ErrAccess)
	a.post(b, msg(2, pattern(100, 1)))
	if !n.run(second, func() bool { return len(a.failed) > 0 }) {
		t.Errorf("nothing has failed after %d last words", told)
	}
	if told < 4 {
		t.Errorf("told %d times", told)
	}
	// A last word is not answered: two that have both ended would talk for ever.
	words := told
	h := wire.XHeader{Type: wire.XReset, ConnID: b.e.words.ring[0].id}
	pkt := h.Append(nil)
	wire.PutChecksum(pkt)
	b.e.Receive(n.Now, a.addr, pkt)
	n.run(second, nil)
	if told != words {
		t.Errorf("a last word was answered")
	}
	// What is remembered is bounded.
	for range 3 * wordsKept {
		b.e.words.push(word{})
	}
	if len(b.e.words.ring) != wordsKept {
		t.Errorf("%d last words are kept", len(b.e.words.ring))
	}
	n.Tap = nil
	a.close()
	b.close()
}
