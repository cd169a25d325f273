package session

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// When a connection with a gofabric peer ends here, the peer gets a reset. It is not acknowledged. If it is lost,
// the peer would send until its time-out, so each datagram of such a peer is answered with the reset again.

// resetsKept is how many resets are remembered. A peer learns of one within a few round trips, unless it is lost
// again and again.
const resetsKept = 64

// sentReset is a reset, with the peer's address and the connection id in the peer's datagrams.
type sentReset struct {
	to    netip.AddrPort
	id    uint64
	bytes [wire.XHeaderLen]byte
}

// sentResets is a ring of resets, allocated when first used.
type sentResets struct {
	ring []sentReset
	next int // to be overwritten when the ring is full
}

// push adds a reset and drops the oldest if there are too many.
func (w *sentResets) push(x sentReset) {
	if w.ring == nil {
		w.ring = make([]sentReset, 0, resetsKept)
	}
	if len(w.ring) < resetsKept {
		w.ring = append(w.ring, x)
		return
	}
	w.ring[w.next] = x
	w.next = (w.next + 1) % resetsKept
}

// sendReset queues a reset for p and remembers it. b has the reset with its checksum.
func (e *Engine) sendReset(p *Peer, b [wire.XHeaderLen]byte) {
	e.queueAnswer(answer{to: p.Addr, raw: true, bytes: b})
	e.resets.push(sentReset{p.Addr, p.local, b})
}

// repeatReset answers a datagram of a connection that has ended, whose header is h, with its reset. A reset is not
// answered, or two ends could do so for ever. The answer is no longer than the datagram.
func (e *Engine) repeatReset(from netip.AddrPort, h *wire.XHeader, pkt []byte) {
	if h.Type == wire.XReset {
		return
	}
	for i := range e.resets.ring {
		if w := &e.resets.ring[i]; w.id == h.ConnID && w.to == from && wire.Verify(pkt) {
			e.queueAnswer(answer{to: from, raw: true, bytes: w.bytes})
			return
		}
	}
}
