package gateway

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// Packets of the peer to the stream that upper receives. Received refuses a packet that upper has no room for, and
// the driver stops to read that connection: back-pressure reaches the peer.
//
// inbound is the peer's message of which segments are still to come. There is one at most, because between segments
// come only answers and credits (docs/wire/rxm.md, "Segments").
type inbound struct {
	id   uint64 // the peer's name for it
	left uint64 // bytes to come
	seg  uint32 // number of the next segment
}

// copyBelow is the payload, in bytes, below which header and payload are copied together, because one call of upper
// costs less than two.
const copyBelow = 4 << 10

// Received takes a packet that the peer has sent over connection conn: 0 is the main one, others are auxiliary. pkt
// is borrowed for the call. False means not now. The caller must then repeat the call with pkt before any other
// packet of the same connection: when upper is up or has resumed (Sink.Connected, Resumed), when Lower has room
// again, and whenever Received has returned true for another connection.
func (g *Gateway) Received(conn int, pkt []byte) bool {
	if !g.alive() {
		return g.dead
	}
	// Each packet may demand an answer. A peer that does not read the answers is not read either.
	if g.control.Len() >= controlMax {
		return false
	}
	p := &g.pkt
	// A packet that cannot be parsed ends the connection: there is no way to continue behind it.
	payload, err := p.Parse(pkt)
	if err != nil {
		g.violation()
		return true
	}
	switch p.Type {
	case wire.TypeEager:
		// Within a message of segments no other message may come; over an auxiliary connection one may overtake.
		if g.in.left > 0 || g.up.Stalled() {
			return false
		}
		g.receiveMessage(p, payload)
	case wire.TypeSegment:
		if !g.receiveSegment(p, payload, conn) {
			return false
		}
	// The announcement takes its place among the messages.
	case wire.TypeRndvReq:
		if g.up.Stalled() {
			return false
		}
		g.receiveRndvReq(p)
	case wire.TypeAtomic:
		if g.in.left > 0 || g.up.Stalled() {
			return false
		}
		g.receiveAtomic(p, payload)
	case wire.TypeReadDone:
		g.receiveReadDone(p.MsgID)
	case wire.TypeWriteData:
		g.receiveWriteData(p)
	// The peer's writes on other connections may still be coming.
	case wire.TypeWriteDone:
		if !g.receiveWriteDone(p.MsgID) {
			return false
		}
	case wire.TypeAtomicResp:
		g.receiveAtomicResp(p, payload)
	// The peer has posted more receives.
	case wire.TypeCredit:
		g.addCredits(p.Credits)
	}
	// The packet is taken, so its receive is posted again.
	if g.alive() {
		g.countReceived()
	}
	return true
}

// message translates the headers of a message.
func message(h *xwire.Header, p *wire.Packet) {
	*h = xwire.Header{Op: xwire.OpMsg}
	if p.Op == wire.OpTagged {
		h.Op, h.Tag = xwire.OpTag, p.Tag
	}
	if p.Flags&wire.FlagCQData != 0 {
		h.Flags, h.CQData = xwire.FlagCQData, p.Data
	}
	h.SetPayload(p.Size)
}

// receiveMessage gives upper a message, or its first segment.
func (g *Gateway) receiveMessage(p *wire.Packet, payload []byte) {
	var h xwire.Header
	message(&h, p)
	g.feed(&h, payload)
}

// receiveSegment gives upper a segment. It reports false if it could not yet: segments after the first may come
// over an auxiliary connection, and there before the first.
func (g *Gateway) receiveSegment(p *wire.Packet, payload []byte, conn int) bool {
	if g.up.Stalled() {
		return false
	}
	in := &g.in
	n := uint64(len(payload))
	if p.Part == wire.First {
		// A message in segments is still incomplete; this one must wait for it.
		if in.left > 0 {
			return false
		}
		// The first segment has the headers of the whole message.
		*in = inbound{id: p.MsgID, left: p.Size - n, seg: 1}
		g.receiveMessage(p, payload)
		return true
	}
	// Over an auxiliary connection it may be early; over the main one it is an error.
	if in.left == 0 || in.id != p.MsgID {
		if conn > 0 {
			return false
		}
		g.violation()
		return true
	}
	// Over one connection segments are in order, so a gap is a violation.
	if p.SegNo != in.seg || n > in.left || (p.Part == wire.Last) != (n == in.left) {
		g.violation()
		return true
	}
	in.seg++
	in.left -= n
	g.up.Receive(0, payload)
	return true
}

// receiveRndvReq gives upper the announcement of a message that stays with the peer until it meets its receive.
func (g *Gateway) receiveRndvReq(p *wire.Packet) {
	var from [xengine.MaxIOV]xwire.RMAIov
	for i, r := range p.Ranges[:p.N] {
		from[i] = xwire.RMAIov(r)
	}
	g.up.Announce(&xengine.Announcement{
		Tagged: p.Op == wire.OpTagged, HasData: p.Flags&wire.FlagCQData != 0, Tag: p.Tag, Data: p.Data,
		Size: p.Size, ID: p.MsgID, From: from[:p.N],
	})
}

// feed gives upper a header and the payload of this packet.
func (g *Gateway) feed(h *xwire.Header, payload []byte) {
	g.scratch = h.Append(g.scratch[:0], xwire.Little)
	// Small payload is copied behind the header.
	if len(payload) <= copyBelow {
		g.scratch = append(g.scratch, payload...)
		payload = nil
	}
	g.up.Receive(0, g.scratch)
	if len(payload) > 0 && g.up.State() == xengine.Connected {
		g.up.Receive(0, payload)
	}
}
