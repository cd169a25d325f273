package engine

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// This file repeats the last word to a gofabric peer whose connection ended here. It is not acknowledged, and where it is lost the peer would go on sending,
// to nobody, until it gives up: each datagram of such a peer is answered with the last word again.

// wordsKept is how many last words are remembered: peers notice within a few round trips, or it is lost again and again.
const wordsKept = 64

// word is a last word, by who was told and the id of the connection that the peer's datagrams bring.
type word struct {
	to    netip.AddrPort
	id    uint64
	bytes [wire.XHeaderLen]byte
}

// lastWords is a ring of last words, allocated when first used.
type lastWords struct {
	ring []word
	next int
}

func (w *lastWords) push(x word) {
	if w.ring == nil {
		w.ring = make([]word, 0, wordsKept)
	}
	if len(w.ring) < wordsKept {
		w.ring = append(w.ring, x)
		return
	}
	w.ring[w.next] = x
	w.next = (w.next + 1) % wordsKept
}

// lastWord ends the connection with p by a datagram: b is a reset, with its checksum.
func (e *Engine) lastWord(p *Peer, b [wire.XHeaderLen]byte) {
	e.later(answer{to: p.Addr, raw: true, bytes: b})
	e.words.push(word{p.Addr, p.local, b})
}

// repeat answers a datagram of a connection that has ended, whose header is h: with no more bytes than came, and not if that is a last word itself.
func (e *Engine) repeat(from netip.AddrPort, h *wire.XHeader, pkt []byte) {
	if h.Type == wire.XReset {
		return
	}
	for i := range e.words.ring {
		if w := &e.words.ring[i]; w.id == h.ConnID && w.to == from && wire.Verify(pkt) {
			e.later(answer{to: from, raw: true, bytes: w.bytes})
			return
		}
	}
}
