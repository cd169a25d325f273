package engine

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// loan is a message of ours that was announced and is still in its buffers.
type loan struct {
	exposed
	index   uint8 // upper's
	ack     bool  // upper waits for the peer to have it
	writing bool  // the peer has said where it is to be written
	told    bool  // the peer was told that it is
	nlocal  uint8
	nremote uint8
	local   [xengine.MaxIOV][]byte
	remote  [xengine.MaxIOV]xwire.RMAIov
}

// makeLoan makes the announcement ready of a message that upper's stream names, and reports whether there may be more to do.
func (g *Gateway) makeLoan(h *xwire.Header, n int) bool {
	var b [xwire.MaxExt]byte
	size := int(h.PayloadLen())
	if size > len(b) || g.take(b[:size]) != size || size < 2 || xwire.ExtKind(b[0]) != xwire.ExtRef {
		g.protocol()
		return false
	}
	op := g.up.AnnouncedSend(b[1])
	if op == nil {
		g.protocol()
		return false
	}
	l := loan{index: b[1], ack: op.Ack || op.Commit}
	for _, part := range op.IOV[:op.NIOV] {
		if len(part) > 0 {
			l.local[l.nlocal] = part
			l.nlocal++
		}
	}
	var ranges [xengine.MaxIOV]xwire.RMAIov
	handle, err := g.low.Expose(l.local[:l.nlocal], false, ranges[:l.nlocal])
	if err != nil {
		g.launch(n+size, false, true)
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
	p.MsgID = g.lent.add(l)
	g.packet(p, n+size, 0, false)
	return true
}

// takeReadDone completes a message that the peer has read.
func (g *Gateway) takeReadDone(id uint64) {
	l := g.lent.get(id)
	if l == nil || l.writing {
		g.protocol()
		return
	}
	g.endLoan(id)
}

// endLoan completes a message.
func (g *Gateway) endLoan(id uint64) {
	l := g.lent.get(id)
	g.conceal(&l.exposed)
	index := l.index
	g.lent.remove(id)
	g.up.SendFetched(index, nil)
}

// takeWriteData takes note of where the peer wants a message to be written.
func (g *Gateway) takeWriteData(p *wire.Packet) {
	l := g.lent.get(p.MsgID)
	if l == nil || l.writing {
		g.protocol()
		return
	}
	size := uint64(0)
	for _, b := range l.local[:l.nlocal] {
		size += uint64(len(b))
	}
	p.Trim(size) // the receive may be shorter, and then the message is truncated
	room := uint64(0)
	for _, r := range p.Ranges[:p.N] {
		if r.Len > 0 {
			l.remote[l.nremote] = xwire.RMAIov(r)
			l.nremote++
			room += r.Len
		}
	}
	l.writing = true
	g.conceal(&l.exposed)
	l.nlocal = uint8(cut(l.local[:l.nlocal], room))
	g.started.Push(tokLoan | p.MsgID)
}

// cut shortens parts to n bytes altogether and returns how many parts are left.
func cut(parts [][]byte, n uint64) int {
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

// startTransfer begins the oldest transfer that waits, and reports whether it could.
func (g *Gateway) startTransfer() bool {
	token := *g.started.At(0)
	name := token &^ tokMask
	ok := true
	if token&tokMask == tokFetch {
		ok = g.startFetch(name)
	} else if l := g.lent.get(name); l != nil {
		ok = g.startWrite(l, token)
	}
	if ok && !g.dead {
		g.started.Drop()
	}
	return ok
}

// startWrite writes a message to where the peer wants it.
func (g *Gateway) startWrite(l *loan, token uint64) bool {
	if l.nlocal == 0 {
		g.written(token &^ tokMask)
		return true
	}
	done, err := g.low.Write(l.local[:l.nlocal], l.remote[:l.nremote], Write{Delivery: g.cfg.Spread}, token) // or what follows overtakes it
	if !g.took(err) {
		return false
	}
	if done {
		g.written(token &^ tokMask)
	}
	return true
}

// written tells the peer that its message is there, and completes it when the peer was told.
func (g *Gateway) written(name uint64) {
	switch l := g.lent.get(name); {
	case l == nil || !l.writing:
	case l.told:
		g.endLoan(name)
	default:
		g.control.Push(notice{kind: noticeWriteDone, id: name})
	}
}
