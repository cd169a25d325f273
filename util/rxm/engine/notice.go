package engine

import (
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// noticeKind says what a notice is.
type noticeKind uint8

const (
	noticeReadDone noticeKind = iota
	noticeWriteDone
	noticeWriteData
	noticeCredit
	noticeStatus // of an atomic operation that was refused
)

// noticesMax is how many notices may wait before the peer, which does not read them, is not listened to any more.
const noticesMax = 1 << 14

// notice is a packet that does not come from upper's stream.
type notice struct {
	kind noticeKind
	op   wire.Op // of noticeStatus
	code int32
	id   uint64 // the peer's name for the message; of credits, their number; of noticeWriteData, our name for the fetch
}

// sendNotice sends the oldest notice, and reports whether it could.
func (g *Gateway) sendNotice() bool {
	if !g.send(g.control.At(0)) {
		return false
	}
	g.control.Drop()
	return true
}

// send sends a notice, and reports whether it could; one that has become pointless counts as sent.
func (g *Gateway) send(n *notice) bool {
	if !g.credit(n.kind == noticeCredit) {
		return false
	}
	p := &g.pkt
	*p = wire.Packet{Conn: g.cfg.RemoteConn, MsgID: n.id}
	switch n.kind {
	case noticeReadDone:
		p.Type = wire.TypeReadDone
	case noticeWriteDone:
		p.Type = wire.TypeWriteDone
	case noticeCredit:
		p.Type, p.Op, p.Credits, p.MsgID = wire.TypeCredit, wire.OpCredit, n.id, 0
	case noticeStatus:
		p.Type, p.Op, p.Status, p.Size = wire.TypeAtomicResp, n.op, n.code, wire.ResultLen
	case noticeWriteData:
		f := g.fetches.get(n.id)
		if f == nil {
			return true
		}
		p.Type, p.MsgID = wire.TypeWriteData, f.id
		putRanges(p, f.from[:f.nfrom])
	}
	var head [wire.MaxHeader]byte
	token, delivery := tokNotice, false
	if l := g.lent.get(n.id); n.kind == noticeWriteDone && l != nil {
		token, delivery = tokLoan|n.id, l.ack
	}
	done, err := g.low.Send(p.Append(head[:0]), nil, delivery, 0, token)
	if !g.took(err) {
		return false
	}
	g.spend()
	if token == tokNotice {
		return true
	}
	g.lent.get(n.id).told = true
	if done {
		g.endLoan(n.id)
	}
	return true
}

// putRanges names memory in a packet.
func putRanges(p *wire.Packet, iov []xwire.RMAIov) {
	p.N = uint8(len(iov))
	for i, v := range iov {
		p.Ranges[i] = wire.Range(v)
	}
}
