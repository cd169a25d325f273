package engine

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// inbound is the peer's message of which segments are still to come.
type inbound struct {
	id   uint64
	left uint64
	seg  uint32
}

// copyBelow is the payload below which header and payload go to upper in one piece, bytes.
const copyBelow = 4 << 10

// Received takes a message that the peer has sent on a connection; the one that was opened first is 0. pkt is borrowed. False says not now: pkt is to be handed over
// again, and nothing of that connection before it, when upper is up or has resumed (Sink.Connected, Resumed), when lower has room again after it had none, and
// whenever Received has returned true for another connection.
func (g *Gateway) Received(conn int, pkt []byte) bool {
	if !g.alive() {
		return g.dead
	}
	if g.control.Len() >= noticesMax {
		return false
	}
	p := &g.pkt
	payload, err := p.Parse(pkt)
	if err != nil {
		g.protocol()
		return true
	}
	switch p.Type {
	case wire.TypeEager:
		if g.in.left > 0 || g.up.Stalled() {
			return false
		}
		g.takeMessage(p, payload)
	case wire.TypeSegment:
		if !g.takeSegment(p, payload, conn) {
			return false
		}
	case wire.TypeRndvReq:
		if g.up.Stalled() {
			return false
		}
		g.takeAnnouncement(p)
	case wire.TypeAtomic:
		if g.in.left > 0 || g.up.Stalled() {
			return false
		}
		g.takeAtomic(p, payload)
	case wire.TypeReadDone:
		g.takeReadDone(p.MsgID)
	case wire.TypeWriteData:
		g.takeWriteData(p)
	case wire.TypeWriteDone:
		if !g.takeWriteDone(p.MsgID) {
			return false
		}
	case wire.TypeAtomicResp:
		g.takeAtomicResp(p, payload)
	case wire.TypeCredit:
		g.earn(p.Credits)
	}
	if g.alive() {
		g.owe()
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

// takeMessage gives upper a message, or its first segment.
func (g *Gateway) takeMessage(p *wire.Packet, payload []byte) {
	var h xwire.Header
	message(&h, p)
	g.feed(&h, payload)
}

// takeSegment gives upper a segment, and reports whether it could: those after the first may come on another connection, and then before it.
func (g *Gateway) takeSegment(p *wire.Packet, payload []byte, conn int) bool {
	if g.up.Stalled() {
		return false
	}
	in := &g.in
	n := uint64(len(payload))
	if p.Part == wire.First {
		if in.left > 0 {
			return false
		}
		*in = inbound{id: p.MsgID, left: p.Size - n, seg: 1}
		g.takeMessage(p, payload)
		return true
	}
	if in.left == 0 || in.id != p.MsgID {
		if conn > 0 {
			return false
		}
		g.protocol()
		return true
	}
	if p.SegNo != in.seg || n > in.left || (p.Part == wire.Last) != (n == in.left) {
		g.protocol()
		return true
	}
	in.seg++
	in.left -= n
	g.up.Receive(0, payload)
	return true
}

// takeAnnouncement tells upper of a message that the peer holds back.
func (g *Gateway) takeAnnouncement(p *wire.Packet) {
	var from [xengine.MaxIOV]xwire.RMAIov
	for i, r := range p.Ranges[:p.N] {
		from[i] = xwire.RMAIov(r)
	}
	g.up.Announce(&xengine.Announcement{Tagged: p.Op == wire.OpTagged, HasData: p.Flags&wire.FlagCQData != 0, Tag: p.Tag, Data: p.Data, Size: p.Size, ID: p.MsgID, From: from[:p.N]})
}

// feed gives upper a header and the payload that is here.
func (g *Gateway) feed(h *xwire.Header, payload []byte) {
	g.scratch = h.Append(g.scratch[:0], xwire.Little)
	if len(payload) <= copyBelow {
		g.scratch = append(g.scratch, payload...)
		payload = nil
	}
	g.up.Receive(0, g.scratch)
	if len(payload) > 0 && g.up.State() == xengine.Connected {
		g.up.Receive(0, payload)
	}
}
