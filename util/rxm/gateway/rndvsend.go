package gateway

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// The sender's half of a rendezvous. The message stays in the application's buffers, which the peer may access;
// then the peer reads it and says so (read_done), or says where it wants it (write_data), and the gateway writes it
// there and says so (write_done). docs/wire/rxm.md, "Rendezvous".
//
// rndvSend is an announced message that is still in its buffers.
type rndvSend struct {
	exposed
	index    uint8 // upper's name for it
	confirm  bool  // delivery complete: the operation waits until the peer has write_done
	writing  bool  // write_data has come
	doneSent bool  // write_done was sent
	nlocal   uint8
	nremote  uint8
	local    [xengine.MaxIOV][]byte       // parts of the message that are to be transferred
	remote   [xengine.MaxIOV]xwire.RMAIov // where the peer wants them
}

// announce makes an outgoing rndv_req of the message that upper's stream names. It reports whether there may be
// more to send.
func (g *Gateway) announce(h *xwire.Header, n int) bool {
	var b [xwire.MaxExt]byte
	size := int(h.PayloadLen())
	// The announcement in the stream names the message by an index; the Conn has its buffers.
	if size > len(b) || g.copyStream(b[:size]) != size || size < 2 || xwire.ExtKind(b[0]) != xwire.ExtRef {
		g.violation()
		return false
	}
	op := g.up.AnnouncedSend(b[1])
	if op == nil {
		g.violation()
		return false
	}
	l := rndvSend{index: b[1], confirm: op.Ack || op.Commit}
	for _, part := range op.IOV[:op.NIOV] {
		// Empty parts need no range.
		if len(part) > 0 {
			l.local[l.nlocal] = part
			l.nlocal++
		}
	}
	var ranges [xengine.MaxIOV]xwire.RMAIov
	// The peer may read the buffers from now on, until the message ends.
	handle, err := g.low.Expose(l.local[:l.nlocal], false, ranges[:l.nlocal])
	// Lower cannot make the memory accessible. Only this operation fails.
	if err != nil {
		g.addFlight(n+size, false, true)
		g.up.SendFetched(l.index, err)
		return g.alive()
	}
	l.exposed = exposed{handle, true}
	p := &g.pkt
	*p = wire.Packet{Type: wire.TypeRndvReq, Op: wire.OpMsg, Size: uint64(op.Len())}
	if op.Tagged {
		p.Op, p.Tag = wire.OpTagged, op.Tag
	}
	if op.HasData {
		p.Flags, p.Data = wire.FlagCQData, op.Data
	}
	putRanges(p, ranges[:l.nlocal])
	p.MsgID = g.rndvSends.add(l)
	g.packet(p, n+size, 0, false)
	return true
}

// receiveReadDone completes a message that the peer has read.
func (g *Gateway) receiveReadDone(id uint64) {
	l := g.rndvSends.get(id)
	// Each message is read or written, and only once.
	if l == nil || l.writing {
		g.violation()
		return
	}
	g.completeSend(id)
}

// completeSend completes a message and ends the access to its buffers.
func (g *Gateway) completeSend(id uint64) {
	l := g.rndvSends.get(id)
	g.conceal(&l.exposed)
	index := l.index
	g.rndvSends.remove(id)
	g.up.SendFetched(index, nil)
}

// receiveWriteData notes where the peer wants a message to be written.
func (g *Gateway) receiveWriteData(p *wire.Packet) {
	l := g.rndvSends.get(p.MsgID)
	// Each message is read or written, and only once.
	if l == nil || l.writing {
		g.violation()
		return
	}
	size := uint64(0)
	for _, b := range l.local[:l.nlocal] {
		size += uint64(len(b))
	}
	// The receive may be longer than the message. If it is shorter, the message is truncated.
	p.Trim(size)
	room := uint64(0)
	for _, r := range p.Ranges[:p.N] {
		if r.Len > 0 {
			l.remote[l.nremote] = xwire.RMAIov(r)
			l.nremote++
			room += r.Len
		}
	}
	// The peer will not read: end its access before the message is written.
	l.writing = true
	g.conceal(&l.exposed)
	l.nlocal = uint8(shortenParts(l.local[:l.nlocal], room))
	g.transfers.Push(tokRndvSend | p.MsgID)
}

// shortenParts shortens parts to n bytes altogether. It returns how many parts are left.
func shortenParts(parts [][]byte, n uint64) int {
	for i, b := range parts {
		if n == 0 {
			return i
		}
		if uint64(len(b)) > n {
			parts[i] = b[:n]
		}
		n -= uint64(len(parts[i]))
	}
	return len(parts)
}

// startTransfer starts the oldest rendezvous transfer that waits. It reports whether Lower took it.
func (g *Gateway) startTransfer() bool {
	token := *g.transfers.At(0)
	name := token &^ tokMask
	ok := true
	if token&tokMask == tokRndvRecv {
		ok = g.startReceive(name)
	} else if l := g.rndvSends.get(name); l != nil {
		ok = g.startWrite(l, token)
	}
	// Done may have ended the connection.
	if ok && !g.dead {
		g.transfers.Drop()
	}
	return ok
}

// startWrite writes a message to where the peer wants it. With auxiliary connections the write must be confirmed
// before write_done is sent, which would overtake it on the main one.
func (g *Gateway) startWrite(l *rndvSend, token uint64) bool {
	// The receive has no room: there is nothing to write.
	if l.nlocal == 0 {
		g.writeDone(token &^ tokMask)
		return true
	}
	done, err := g.low.Write(l.local[:l.nlocal], l.remote[:l.nremote], Write{Delivery: g.cfg.Spread}, token)
	if !g.accepted(err) {
		return false
	}
	if done {
		g.writeDone(token &^ tokMask)
	}
	return true
}

// writeDone runs when the write is done, and when write_done has arrived. It queues write_done, and completes the
// message the second time.
func (g *Gateway) writeDone(name uint64) {
	switch l := g.rndvSends.get(name); {
	case l == nil || !l.writing:
	case l.doneSent:
		g.completeSend(name)
	default:
		g.control.Push(controlPacket{kind: controlWriteDone, id: name})
	}
}
