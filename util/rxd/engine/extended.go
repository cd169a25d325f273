package engine

import (
	"net/netip"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

// minDatagram is the least that a gofabric peer must receive in one datagram, bytes.
const minDatagram = 512

// channel is the way to a gofabric peer.
type channel struct {
	flow   flow.Flow
	share  share
	epoch  uint32 // of the peer's endpoint, half of it
	serial uint32 // of the peer's attempts, the last one that is not younger than the connection
}

// half32 is enough of an epoch to tell it from another: ids that go with it are compared as well.
func half32(epoch uint64) uint32 { return uint32(epoch >> 32) }

// stream is a Peer as its flow sees it.
type stream Peer

// Next, Ready, Lent, Awaited and Acked implement flow.Source.
func (s *stream) Next(list [][]byte, n int) ([][]byte, int) { return s.conn.Next(list, n) }
func (s *stream) Ready() int                                { return s.conn.Unsent() }
func (s *stream) Lent() bool                                { return s.conn.Lent() }
func (s *stream) Awaited() bool                             { return s.conn.Awaited() }
func (s *stream) Acked(n int)                               { s.conn.Transmitted(n) }

// Deliver and Stalled implement flow.Sink.
func (s *stream) Deliver(b []byte) {
	if s.conn.State() == xengine.Connected {
		s.conn.Receive(0, b)
	}
}

// pause sees to it that a Conn goes on that has paused.
func (p *Peer) pause() {
	if e := p.e; p.conn.Paused() && e.pauses[p] == 0 {
		e.pardon = max(e.pardon, e.now) + xengine.PauseNanos
		e.pauses[p] = e.pardon
	}
}
func (s *stream) Stalled() bool { return s.conn.Stalled() }

// usable checks what a peer says of itself.
func usable(x *wire.Ext) bool { return x.ConnID != 0 && x.MaxDatagram >= minDatagram && x.Window > 0 }

// receiveRTSX answers a gofabric peer. Nothing is kept of one that has not proved with a cookie that it is where it says. When both ends ask at the same
// time the one with the higher epoch has its way, so that there is one connection, begun by one of them.
func (e *Engine) receiveRTSX(now int64, from netip.AddrPort, r *wire.RTS, x *wire.Ext) {
	if !usable(x) {
		e.Stats.Malformed++
		return
	}
	if !e.sameKind(from, r, x) {
		return
	}
	p := e.find(from)
	asking := p != nil && p.hs != nil
	if asking && x.Epoch < e.cfg.Epoch {
		return
	}
	id := e.connID(from, x)
	if asking && x.Epoch == e.cfg.Epoch && x.ConnID == p.local {
		id = p.local // that was us: an endpoint may speak to itself
	}
	if x.Cookie == 0 || !e.cookieOK(now, from, x) {
		if x.Cookie != 0 {
			e.Stats.BadCookies++
		}
		if !e.unknown.may(now) {
			e.Stats.AnswersLost++
			return
		}
		e.Stats.Challenges++
		e.answerX(from, r, x, id, e.cookie(from, x, now>>slotShift), 0)
		return
	}
	if !e.proved(from, r, x, id) {
		return
	}
	if p == nil || p.state != extended || p.ext.epoch != half32(x.Epoch) || p.ext.flow.ConnID != x.ConnID {
		if p = e.openPeer(now, p, from, x, id); p == nil {
			return
		}
	}
	p.hs = nil // the peer has our CTS
	e.answerX(from, r, x, p.local, x.Cookie, wire.ExtUp)
	e.enqueue(p)
}

// openPeer makes the connection with a peer that has proved its address, nil if it may not have one.
func (e *Engine) openPeer(now int64, p *Peer, from netip.AddrPort, x *wire.Ext, id uint64) *Peer {
	if p != nil && (p.hs == nil || p.state == extended && p.ext.epoch != half32(x.Epoch) && p.handed()) {
		if p.state == extended && p.ext.epoch == half32(x.Epoch) && int32(uint32(x.Nonce>>32)-p.ext.serial) <= 0 {
			e.Stats.Unknown++ // of an attempt before this connection
			return nil
		}
		e.Stats.Restarts++
		p.fail(xengine.ErrPeerClose)
		p = e.peers[from] // the driver may have asked for it again
	}
	if p == nil {
		if p = e.newPassive(from); p == nil {
			return nil
		}
	}
	p.local = id
	if p.state == extended { // it asked too, and we have its answer, but it has taken nothing of us yet
		p.rename(x, uint32(x.Nonce>>32))
		return p
	}
	p.openX(now, x, uint32(x.Nonce>>32))
	if p.state != extended {
		return nil
	}
	return p
}

// handed reports that something of the stream has left. We may not know that the peer has taken it; if it has started again since, what left must not come
// to its new life.
func (p *Peer) handed() bool { return p.conn.BytesOut > 0 || p.conn.Handed() > 0 }

// rename goes on with another connection of the peer, from the beginning of the stream, of which the peer has taken nothing yet.
func (p *Peer) rename(x *wire.Ext, serial uint32) {
	c := p.ext
	p.agree(x)
	c.epoch, c.serial, c.flow.ConnID = half32(x.Epoch), serial, x.ConnID
}

// answerX queues a CTS with our block.
func (e *Engine) answerX(to netip.AddrPort, r *wire.RTS, x *wire.Ext, id, cookie uint64, flags uint8) {
	b := e.block(id, x.Nonce, cookie)
	b.Flags = flags
	e.answerProof(x, &b)
	cts := wire.CTS{RTSAddr: r.RTSAddr, CTSAddr: uint64(uint32(id) | 1)}
	cts.Seq = e.serial // attempts of ours up to now are older than the connection that this is about
	e.later(answer{to: to, cts: cts, ext: b, has: true})
}

// receiveCTSX takes a gofabric peer's answer to our RTS.
func (e *Engine) receiveCTSX(now int64, p *Peer, c *wire.CTS, x *wire.Ext) {
	if !usable(x) || x.Nonce != p.hs.nonce {
		e.Stats.Unknown++
		return
	}
	if !e.takeAnswer(now, p, x) {
		return
	}
	up := x.Flags&wire.ExtUp != 0
	switch {
	case p.state == requesting:
		p.openX(now, x, uint32(c.Seq))
		if p.state != extended {
			return
		}
	case p.state == extended && p.ext.epoch != half32(x.Epoch) && !up && p.handed():
		e.Stats.Restarts++
		p.fail(xengine.ErrPeerClose)
		return
	case p.state == extended && (p.ext.epoch != half32(x.Epoch) || p.ext.flow.ConnID != x.ConnID) && !up:
		// The peer has started again, or has made another id, before it has taken anything of us: all of it is sent again, to the new id.
		p.rename(x, uint32(c.Seq))
	}
	if up {
		p.hs = nil
		e.enqueue(p)
		return
	}
	if h := p.hs; h.cookie != x.Cookie {
		h.cookie, h.send = x.Cookie, true
		h.start(now, e.cfg.HandshakeTimeout)
	}
	e.lookAt(p, p.hs.due)
	e.enqueue(p)
}

// agree notes what both ends of the stream can do.
func (p *Peer) agree(x *wire.Ext) {
	p.conn.Agreed = 0
	if x.Features&wire.FeatureSeals != 0 {
		p.conn.Agreed |= xwire.FeatureSeals
	}
	if x.Features&wire.FeatureShow != 0 {
		p.conn.Agreed |= xwire.FeatureShow
	}
	if x.Features&wire.FeatureVerdicts != 0 {
		p.conn.Agreed |= xwire.FeatureVerdicts
	}
}

// openX makes p a gofabric peer, as x describes it.
func (p *Peer) openX(now int64, x *wire.Ext, serial uint32) {
	e := p.e
	c := &e.flowCfg
	c.MaxDatagram = e.hooks.MaxDatagram(p.Addr)
	c.PeerMaxDatagram = int(min(x.MaxDatagram, 65507))
	c.PeerWindow = x.Window
	p.ext = &channel{epoch: half32(x.Epoch), serial: serial}
	p.ext.flow.ConnID = x.ConnID
	p.ext.flow.Init(c, (*stream)(p), (*stream)(p), now)
	p.agree(x)
	p.becomeUp(extended)
}

// PathChanged says that datagrams to addr may have to be shorter, or may be longer, than they were (Hooks.MaxDatagram).
func (e *Engine) PathChanged(addr netip.AddrPort) {
	if p := e.peers[addr]; p != nil && p.state == extended {
		p.ext.flow.SetMaxDatagram(e.hooks.MaxDatagram(addr))
	}
}

// receiveX takes an extension datagram.
func (e *Engine) receiveX(now int64, from netip.AddrPort, pkt []byte) {
	p := e.find(from)
	h := &e.xh
	payload, err := h.Parse(pkt)
	if err != nil {
		e.Stats.Malformed++
		return
	}
	if p == nil || p.state != extended || h.ConnID != p.local {
		e.Stats.Unknown++
		e.repeat(from, h, pkt)
		return
	}
	if !wire.Verify(pkt) {
		e.Stats.BadChecksum++
		return
	}
	p.hs = nil // the peer has taken us up
	e.touch(p)
	if c := p.ext; len(payload) > 0 {
		c.flow.Ahead(e.shares.took(&c.share, len(payload)))
	}
	p.ext.flow.Receive(now, h, payload)
	if p.alive() {
		e.enqueue(p)
	}
}

// silent reports whether p has nothing to transmit, for certain: most of what comes asks for nothing, and most of what leaves leaves nothing behind.
func (p *Peer) silent() bool {
	if p.state != extended || p.hs != nil || p.resumed || p.conn.Paused() {
		return false
	}
	f := &p.ext.flow
	return !f.Pending() && f.Dead() == nil && p.conn.State() == xengine.Connected
}

// settled is silent, and sees to the deadline of such a peer.
func (p *Peer) settled(now int64) bool {
	if !p.silent() {
		return false
	}
	p.ext.flow.Expect(now, p.conn.Owed())
	p.e.lookAt(p, p.ext.flow.Deadline())
	return true
}

// alive ends the peer if its flow or its Conn has ended.
func (p *Peer) alive() bool {
	if p.state != extended || !p.checked(nil) {
		return false
	}
	switch err := p.ext.flow.Dead(); err {
	case nil:
		return true
	case flow.ErrTimeout:
		p.fail(xengine.ErrTimeout)
	case flow.ErrClosed:
		p.fail(xengine.ErrGoodbye)
	default:
		p.fail(xengine.ErrPeerClose)
	}
	return false
}

// pollX fills in the next datagram to the peer.
func (p *Peer) pollX(now int64, out *Out) bool {
	if p.hs != nil {
		return false // until the peer says that it has the connection: what it takes and forgets again must not come twice
	}
	d := &p.e.dg
	if !p.ext.flow.Poll(now, d) {
		p.ext.flow.Expect(now, p.conn.Owed())
		p.alive()
		return false
	}
	out.To, out.Peer, out.Ext = p.Addr, p, true
	out.Head = d.Header.Append(out.Head[:0])
	out.Len = len(out.Head) + d.Len
	if d.Len > SmallMax || out.Len > cap(out.Head) {
		out.Parts = append(out.Parts, d.Parts...)
	} else {
		for _, b := range d.Parts {
			out.Head = append(out.Head, b...)
		}
	}
	wire.PutChecksum(out.Head, out.Parts...)
	return true
}

// resumeX tells the flow that bytes are taken again.
func (p *Peer) resumeX(now int64) bool {
	p.ext.flow.Resume(now)
	return p.alive()
}

func (p *Peer) deadlineX() int64 { return p.ext.flow.Deadline() }

func (p *Peer) advanceX(now int64) {
	p.ext.flow.Advance(now)
	p.alive()
}

// quietX lets acknowledgements go that waited for company.
func (p *Peer) quietX(now int64) {
	p.ext.flow.Quiet(now)
	p.e.enqueue(p)
}

// closeX ends the flow, and tells the peer if it may still listen.
func (p *Peer) closeX() {
	e, f := p.e, &p.ext.flow
	e.shares.forget(&p.ext.share)
	s := f.Stats()
	e.ended.Add(&s.Counts)
	if f.Done() {
		f.Abort(xengine.ErrClosed)
		return
	}
	f.Abort(xengine.ErrClosed)
	if f.Poll(0, &e.dg) {
		var last [wire.XHeaderLen]byte
		wire.PutChecksum(e.dg.Header.Append(last[:0]))
		e.lastWord(p, last)
	}
}
