package gateway

import (
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// Packets that do not come from upper's stream: the answers of a rendezvous, credits, and refusals of atomic
// operations. They leave before the stream, because a peer may hold back its own packets until it has them.
//
// controlKind is the kind of a controlPacket.
type controlKind uint8

const (
	controlReadDone controlKind = iota
	controlWriteDone
	controlWriteData
	controlCredit
	controlStatus // refusal of an atomic operation
)

// controlMax is how many control packets may wait. A peer that does not read them is not read beyond that.
const controlMax = 1 << 14

// controlPacket is a packet that waits for Lower.
type controlPacket struct {
	kind controlKind
	op   wire.Op // of controlStatus
	code int32   // of controlStatus: negative error number
	// id is the peer's name for the message; of controlCredit the number of credits, of controlWriteData our name
	// in rndvRecvs.
	id uint64
}

// sendControl sends the oldest control packet. It reports whether Lower took it.
func (g *Gateway) sendControl() bool {
	if !g.sendControlPacket(g.control.At(0)) {
		return false
	}
	g.control.Drop()
	return true
}

// sendControlPacket sends a control packet. It reports whether Lower took it; a packet for a message that has ended
// counts as taken.
func (g *Gateway) sendControlPacket(n *controlPacket) bool {
	if !g.hasCredit(n.kind == controlCredit) {
		return false
	}
	p := &g.pkt
	*p = wire.Packet{Conn: g.cfg.RemoteConn, MsgID: n.id}
	switch n.kind {
	case controlReadDone:
		p.Type = wire.TypeReadDone
	case controlWriteDone:
		p.Type = wire.TypeWriteDone
	case controlCredit:
		p.Type, p.Op, p.Credits, p.MsgID = wire.TypeCredit, wire.OpCredit, n.id, 0
	case controlStatus:
		p.Type, p.Op, p.Status, p.Size = wire.TypeAtomicResp, n.op, n.code, wire.ResultLen
	case controlWriteData:
		// The message may have ended while the packet waited.
		f := g.rndvRecvs.get(n.id)
		if f == nil {
			return true
		}
		p.Type, p.MsgID = wire.TypeWriteData, f.id
		putRanges(p, f.ranges[:f.nranges])
	}
	var head [wire.MaxHeader]byte
	token, delivery := tokControl, false
	// The sender completes its message when write_done has left or, with delivery complete, has arrived.
	if l := g.rndvSends.get(n.id); n.kind == controlWriteDone && l != nil {
		token, delivery = tokRndvSend|n.id, l.confirm
	}
	done, err := g.low.Send(p.Append(head[:0]), nil, delivery, 0, token)
	if !g.accepted(err) {
		return false
	}
	g.useCredit()
	// Nothing waits for the end of this packet.
	if token == tokControl {
		return true
	}
	g.rndvSends.get(n.id).doneSent = true
	if done {
		g.completeSend(n.id)
	}
	return true
}

// putRanges copies memory ranges into a packet.
func putRanges(p *wire.Packet, iov []xwire.RMAIov) {
	p.N = uint8(len(iov))
	for i, v := range iov {
		p.Ranges[i] = wire.Range(v)
	}
}
