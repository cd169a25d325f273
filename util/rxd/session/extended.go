package session

import (
	"net/netip"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

// minDatagram is the least Ext.MaxDatagram of a gofabric peer, in bytes. IPv4 demands 576 with headers (RFC 791).
const minDatagram = 512

// extension is the state of a gofabric peer: the flow that carries its stream. A peer gets it when it has proved
// its address with a cookie, so that a forged RTS costs nothing.
type extension struct {
	flow   flow.Flow
	share  share
	epoch  uint32 // upper half of the epoch of the peer's endpoint
	serial uint32 // number of the peer's last attempt that is not newer than the connection
}

// upper32 shortens an epoch to save memory. 32 bits suffice, because the connection ids are compared as well.
func upper32(epoch uint64) uint32 { return uint32(epoch >> 32) }

// flowEnds is a Peer in its role as the flow's Source and Sink.
type flowEnds Peer

// Next, Ready, Lent, Awaited and Acked implement flow.Source.
func (s *flowEnds) Next(list [][]byte, n int) ([][]byte, int) { return s.conn.Next(list, n) }
func (s *flowEnds) Ready() int                                { return s.conn.Unsent() }
func (s *flowEnds) Lent() bool                                { return s.conn.Lent() }
func (s *flowEnds) Awaited() bool                             { return s.conn.Awaited() }
func (s *flowEnds) Acked(n int)                               { s.conn.Transmitted(n) }

// Deliver and Stalled implement flow.Sink.
func (s *flowEnds) Deliver(b []byte) {
	if s.conn.State() == xengine.Connected {
		s.conn.Receive(0, b)
	}
}

// armPause sets the end of the pause if the Conn has paused. The pauses of several peers follow each other, so that
// they share the time of the receiver.
func (p *Peer) armPause() {
	if e := p.e; p.conn.Paused() && e.pauses[p] == 0 {
		e.pausesEnd = max(e.pausesEnd, e.now) + xengine.PauseNanos
		e.pauses[p] = e.pausesEnd
	}
}
func (s *flowEnds) Stalled() bool { return s.conn.Stalled() }

// validBlock checks the fields of an extension block.
func validBlock(x *wire.Ext) bool {
	return x.ConnID != 0 && x.MaxDatagram >= minDatagram && x.Window > 0
}

// receiveRTSX answers the RTS of a gofabric peer. It keeps no state before the peer has returned a cookie. If both
// ends ask at the same time, the request of the end with the higher epoch stands, and the other is not answered.
// There is then one connection.
func (e *Engine) receiveRTSX(now int64, from netip.AddrPort, r *wire.RTS, x *wire.Ext) {
	if !validBlock(x) {
		e.Stats.Malformed++
		return
	}
	// Keys first: an end without the right one gets no cookie, either.
	if !e.sameAuth(from, r, x) {
		return
	}
	p := e.findPeer(from)
	asking := p != nil && p.hs != nil
	// Both ends ask at the same time, and our request stands. The peer answers it.
	if asking && x.Epoch < e.cfg.Epoch {
		return
	}
	id := e.connID(from, x)
	// Our own RTS: an endpoint may send to itself. Both directions share one peer, and so one id.
	if asking && x.Epoch == e.cfg.Epoch && x.ConnID == p.local {
		id = p.local
	}
	// The answer is computed from the RTS and the secret. It is no longer than the RTS, so a forged address gains
	// nothing.
	if x.Cookie == 0 || !e.cookieOK(now, from, x) {
		// Too old, of an earlier secret, or forged.
		if x.Cookie != 0 {
			e.Stats.BadCookies++
		}
		if !e.challenges.allow(now) {
			e.Stats.AnswersLost++
			return
		}
		e.Stats.Challenges++
		e.answerX(from, r, x, id, e.cookie(from, x, now>>slotShift), 0)
		return
	}
	// The cookie proves the address, the proof the authorization key.
	if !e.proofOK(from, r, x, id) {
		return
	}
	// Otherwise it is a repetition of the RTS, because our CTS was lost. The connection exists, and the answer is
	// the same.
	if p == nil || p.state != extended || p.ext.epoch != upper32(x.Epoch) || p.ext.flow.ConnID != x.ConnID {
		if p = e.openPeer(now, p, from, x, id); p == nil {
			return
		}
	}
	p.hs = nil // the peer has received our CTS
	e.answerX(from, r, x, p.local, x.Cookie, wire.ExtUp)
	e.enqueue(p)
}

// openPeer makes the connection to a peer that has proved its address. It returns nil if the peer may have none. A
// known peer with another epoch or a later attempt has restarted: its old connection ends.
func (e *Engine) openPeer(now int64, p *Peer, from netip.AddrPort, x *wire.Ext, id uint64) *Peer {
	if p != nil && (p.hs == nil || p.state == extended && p.ext.epoch != upper32(x.Epoch) && p.hasSent()) {
		if p.state == extended && p.ext.epoch == upper32(x.Epoch) && int32(uint32(x.Nonce>>32)-p.ext.serial) <= 0 {
			e.Stats.Unknown++ // a late RTS, of an attempt before this connection
			return nil
		}
		// A new process, or a new attempt of the same one after it had given us up.
		e.Stats.Restarts++
		p.fail(xengine.ErrPeerClose)
		p = e.peers[from] // the hook may have posted to it again
	}
	if p == nil {
		if p = e.newPassive(from); p == nil {
			return nil
		}
	}
	p.local = id
	// It asked, too, and we have its answer. It has received none of our stream yet, so the flow can begin again
	// with the new id.
	if p.state == extended {
		p.restartFlow(x, uint32(x.Nonce>>32))
		return p
	}
	p.openX(now, x, uint32(x.Nonce>>32))
	// The hook PeerUp has removed the peer.
	if p.state != extended {
		return nil
	}
	return p
}

// hasSent reports that bytes of the stream have left. The peer may have received them, even if we do not know it.
// If it has restarted since, the new endpoint must not receive them again.
func (p *Peer) hasSent() bool { return p.conn.BytesOut > 0 || p.conn.Handed() > 0 }

// restartFlow continues with another connection of the peer. The stream begins again, which is possible because none
// of it has left.
func (p *Peer) restartFlow(x *wire.Ext, serial uint32) {
	c := p.ext
	p.setFeatures(x)
	c.epoch, c.serial, c.flow.ConnID = upper32(x.Epoch), serial, x.ConnID
}

// answerX queues a CTS with our extension block.
func (e *Engine) answerX(to netip.AddrPort, r *wire.RTS, x *wire.Ext, id, cookie uint64, flags uint8) {
	b := e.block(id, x.Nonce, cookie)
	b.Flags = flags
	e.addProof(x, &b)
	cts := wire.CTS{RTSAddr: r.RTSAddr, CTSAddr: uint64(uint32(id) | 1)}
	cts.Seq = e.serial // the peer uses it to recognise late RTS of ours
	e.queueAnswer(answer{to: to, cts: cts, ext: b, has: true})
}

// receiveCTSX takes a CTS with an extension block. The first brings the cookie for the next RTS; the one with "up"
// ends the handshake.
func (e *Engine) receiveCTSX(now int64, p *Peer, c *wire.CTS, x *wire.Ext) {
	if !validBlock(x) || x.Nonce != p.hs.nonce {
		e.Stats.Unknown++
		return
	}
	// Nothing of a peer is used before its key is proved.
	if !e.checkAuth(now, p, x) {
		return
	}
	up := x.Flags&wire.ExtUp != 0
	switch {
	// The first answer: the flow exists from now on, but pollX holds data back until "up".
	case p.state == requesting:
		p.openX(now, x, uint32(c.Seq))
		if p.state != extended {
			return
		}
	case p.state == extended && p.ext.epoch != upper32(x.Epoch) && !up && p.hasSent():
		e.Stats.Restarts++
		p.fail(xengine.ErrPeerClose)
		return
	// The peer has restarted or chosen another id before it received anything of our stream.
	case p.state == extended && (p.ext.epoch != upper32(x.Epoch) || p.ext.flow.ConnID != x.ConnID) && !up:
		p.restartFlow(x, uint32(c.Seq))
	}
	// The peer has our cookie and the connection.
	if up {
		p.hs = nil
		e.enqueue(p)
		return
	}
	// Return the cookie in the next RTS, which leaves at once. The time for the handshake begins again, because the
	// peer has answered.
	if h := p.hs; h.cookie != x.Cookie {
		h.cookie, h.sendDue = x.Cookie, true
		h.start(now, e.cfg.HandshakeTimeout)
	}
	e.armDeadline(p, p.hs.due)
	e.enqueue(p)
}

// setFeatures enables the features that both ends have.
func (p *Peer) setFeatures(x *wire.Ext) {
	// Ours are always on, so the peer's decide.
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

// openX makes p a gofabric peer with the parameters in x.
func (p *Peer) openX(now int64, x *wire.Ext, serial uint32) {
	e := p.e
	c := &e.flowCfg
	// e.flowCfg is shared by all flows; Init copies these fields.
	c.MaxDatagram = e.hooks.MaxDatagram(p.Addr)
	c.PeerMaxDatagram = int(min(x.MaxDatagram, 65507)) // the longest UDP payload over IPv4
	c.PeerWindow = x.Window
	p.ext = &extension{epoch: upper32(x.Epoch), serial: serial}
	p.ext.flow.ConnID = x.ConnID
	p.ext.flow.Init(c, (*flowEnds)(p), (*flowEnds)(p), now)
	p.setFeatures(x)
	p.becomeUp(extended)
}

// PathChanged says that Hooks.MaxDatagram of addr has changed.
func (e *Engine) PathChanged(addr netip.AddrPort) {
	if p := e.peers[addr]; p != nil && p.state == extended {
		p.ext.flow.SetMaxDatagram(e.hooks.MaxDatagram(addr))
	}
}

// receiveX takes an extension datagram. The checksum is verified last, because it costs the most and most wrong
// datagrams fail before.
func (e *Engine) receiveX(now int64, from netip.AddrPort, pkt []byte) {
	p := e.findPeer(from)
	h := &e.xh
	// The checks are ordered by their cost: format, connection, checksum.
	payload, err := h.Parse(pkt)
	if err != nil {
		e.Stats.Malformed++
		return
	}
	if p == nil || p.state != extended || h.ConnID != p.local {
		e.Stats.Unknown++
		e.repeatReset(from, h, pkt)
		return
	}
	if !wire.Verify(pkt) {
		e.Stats.BadChecksum++
		return
	}
	p.hs = nil // the peer has the connection
	e.addToPass(p)
	// Account for the bytes; acknowledgements to a peer that is ahead of others wait.
	if c := p.ext; len(payload) > 0 {
		c.flow.DelayAcks(e.shares.add(&c.share, len(payload)))
	}
	p.ext.flow.Receive(now, h, payload)
	if p.checkFlow() {
		e.enqueue(p)
	}
}

// nothingToSend reports that p certainly has nothing to transmit. It spares most peers a Poll: most received
// datagrams ask for nothing, and most sent ones leave nothing behind.
func (p *Peer) nothingToSend() bool {
	if p.state != extended || p.hs != nil || p.resumeDue || p.conn.Paused() {
		return false
	}
	f := &p.ext.flow
	return !f.Pending() && f.Dead() == nil && p.conn.State() == xengine.Connected
}

// armIfIdle reports nothingToSend, and sets the deadline of such a peer.
func (p *Peer) armIfIdle(now int64) bool {
	if !p.nothingToSend() {
		return false
	}
	p.ext.flow.Expect(now, p.conn.Owed())
	p.e.armDeadline(p, p.ext.flow.Deadline())
	return true
}

// checkFlow ends the peer if its flow or its Conn has ended. It reports whether the peer is still there.
func (p *Peer) checkFlow() bool {
	if p.state != extended || !p.checkConn(nil) {
		return false
	}
	// Translate the flow's end into the Conn's reasons.
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

// pollX fills in the next datagram of the flow.
func (p *Peer) pollX(now int64, out *Out) bool {
	// Nothing leaves before the peer says that it has the connection. It might receive data, forget the connection,
	// and get the data again after a repeated RTS.
	if p.hs != nil {
		return false
	}
	d := &p.e.dg
	// Nothing to send. The peer is probed if it owes an answer, so that its death is noticed.
	if !p.ext.flow.Poll(now, d) {
		p.ext.flow.Expect(now, p.conn.Owed())
		p.checkFlow()
		return false
	}
	out.To, out.Peer, out.Ext = p.Addr, p, true
	// The header first; the checksum covers it and the payload.
	out.Head = d.Header.Append(out.Head[:0])
	out.Len = len(out.Head) + d.Len
	// Small payload goes behind the header: one slice is cheaper than two for the system call.
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

// resumeX lets the flow deliver again.
func (p *Peer) resumeX(now int64) bool {
	p.ext.flow.Resume(now)
	return p.checkFlow()
}

// deadlineX, advanceX and passDoneX pass the calls for the peer on to its flow.
func (p *Peer) deadlineX() int64 { return p.ext.flow.Deadline() }

func (p *Peer) advanceX(now int64) {
	p.ext.flow.Advance(now)
	p.checkFlow()
}

func (p *Peer) passDoneX(now int64) {
	p.ext.flow.PassDone(now)
	p.e.enqueue(p)
}

// closeX ends the flow and queues a reset for the peer. A flow that is done has sent its end already, and needs
// none.
func (p *Peer) closeX() {
	e, f := p.e, &p.ext.flow
	e.shares.remove(&p.ext.share)
	// Keep the counts, and tell the peer: the reset ends its side at once instead of by a time-out.
	s := f.Stats()
	e.endedFlows.Add(&s.Counts)
	if f.Done() {
		f.Abort(xengine.ErrClosed)
		return
	}
	f.Abort(xengine.ErrClosed)
	if f.Poll(0, &e.dg) {
		var last [wire.XHeaderLen]byte
		wire.PutChecksum(e.dg.Header.Append(last[:0]))
		e.sendReset(p, last)
	}
}
