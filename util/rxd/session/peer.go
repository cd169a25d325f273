package session

import (
	"net/netip"

	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
)

// state is the state of a peer.
//
//	requesting -> native | extended -> gone       we sent RTS first
//	native | extended -> gone                     the peer did
//
// A native peer whose RTS came has an entry in Engine.halfOpen before it is a Peer.
type state uint8

const (
	requesting state = iota // RTS was sent, there is no answer yet
	native                  // connected, speaks packets of version 2
	extended                // connected, is a gofabric peer
	removed                 // the engine does not know it any more
)

// String returns the state's name, for tests and panics.
func (s state) String() string {
	return [...]string{"requesting", "native", "extended", "gone"}[s]
}

// Peer is one remote endpoint from the first contact to its end. If it comes back later, it is another Peer.
// TestSizes limits its size.
type Peer struct {
	// User is for the driver.
	User any
	// Addr is the peer's address, which identifies it.
	Addr netip.AddrPort

	e    *Engine
	conn *xengine.Conn
	hs   *handshake // nil when the handshake is over
	nat  *gateway   // state of a native peer
	ext  *extension // state of a gofabric peer

	local uint64 // the connection id in extension datagrams of the peer
	index uint32 // the index in packets of a native peer

	state     state
	passive   bool // the peer contacted us first
	queued    bool // in Engine.ready
	inPass    bool // in Engine.passPeers
	resumeDue bool // conn takes bytes again, and the peer must learn that

	place                 queue.Place // in Engine.due
	nextReady, nextInPass *Peer
}

// Conn returns the stream of operations to the peer.
func (p *Peer) Conn() *xengine.Conn { return p.conn }

// Up reports whether the handshake is done.
func (p *Peer) Up() bool { return p.state == native || p.state == extended }

// Native reports whether the handshake is done with a native peer.
func (p *Peer) Native() bool { return p.state == native }

// Gone reports whether the peer has ended.
func (p *Peer) Removed() bool { return p.state == removed }

// newPeer makes a peer whose Conn holds operations back until the handshake is done.
func (e *Engine) newPeer(addr netip.AddrPort, fi uint64) *Peer {
	p := &Peer{Addr: addr, e: e, state: requesting}
	// The caller has ended the one before.
	if old := e.peers[addr]; old != nil {
		panic("BUG: rxd: two peers at " + addr.String())
	}
	e.peers[addr] = p
	p.conn = xengine.NewWaiting(e.pool, e.cfg.Conn, e.rx, e.mem, e.hooks.Sink(p))
	p.conn.User, p.conn.Src = p, fi
	// Single copy is possible if both ends are on this host.
	if e.cfg.Ends != nil {
		p.conn.Way = func() (xengine.Ends, bool) { return e.cfg.Ends(addr) }
	}
	return p
}

// newPassive makes a peer that contacted us first. It returns nil if there are too many: anyone may contact us.
func (e *Engine) newPassive(addr netip.AddrPort) *Peer {
	if e.passive >= e.cfg.MaxPeers {
		e.Stats.Refused++
		return nil
	}
	p := e.newPeer(addr, e.hooks.Reverse(addr))
	p.passive = true
	e.passive++
	return p
}

// becomeUp ends the handshake and lets the waiting operations leave.
func (p *Peer) becomeUp(s state) {
	p.state = s
	p.conn.Extended = true // atomic operations: the gateway translates them for native peers
	p.conn.Ours = s == extended
	// Limits of native peers: no single copy, one packet per atomic operation.
	if s == native {
		p.conn.Reconfigure(&p.e.natConn)
	}
	p.conn.Rendezvous = s == extended && p.e.cfg.Rendezvous
	p.e.hooks.PeerUp(p)
	if p.state != s { // the hook has removed the peer
		return
	}
	// Ready launches the operations that waited.
	p.checkConn(p.conn.Ready())
	p.e.Posted(p)
}

// checkConn ends the peer if its Conn has ended or err says so. It reports whether the peer is still there.
func (p *Peer) checkConn(err error) bool {
	if p.state == removed {
		return false
	}
	if err == nil && p.conn.State() != xengine.Closed {
		return true
	}
	// The Sink's Failed has noted the reason.
	if e := p.e; e.failed == p {
		err = e.failedErr
	}
	// The Conn closed without a call of Failed.
	if err == nil {
		err = xengine.ErrProtocol
	}
	p.e.endPeer(p, err, true)
	return false
}

// endPeer ends a peer and frees what it holds. With notify the driver's hook PeerFailed runs.
func (e *Engine) endPeer(p *Peer, err error, notify bool) {
	delete(e.pauses, p)
	p.state = removed
	if e.peers[p.Addr] == p {
		delete(e.peers, p.Addr)
	}
	if e.last == p {
		e.last = nil
	}
	if p.passive {
		e.passive--
	}
	// Free everything that refers to the peer before its operations end: their completions may lead to new posts.
	e.due.Remove(p.place)
	if p.nat != nil {
		p.nat.free(e)
		e.remember(p)
	}
	if p.ext != nil {
		p.closeX()
	}
	p.hs = nil
	// The Conn fails first, so that PeerFailed finds no operation of the peer.
	if notify {
		p.conn.Fail(err)
		e.hooks.PeerFailed(p, err)
	} else {
		p.conn.Drop(err)
	}
	p.nat, p.ext = nil, nil
	if e.failed == p {
		e.failed, e.failedErr = nil, nil
	}
}

// fail ends a peer and notifies the driver.
func (p *Peer) fail(err error) {
	if p.state != removed {
		p.e.endPeer(p, err, true)
	}
}

// poll fills in the peer's next datagram: an RTS that is due before anything else.
func (p *Peer) poll(now int64, out *Out) bool {
	if p.state == removed {
		return false
	}
	// The Conn has taken its messages: the peer may send again.
	if p.resumeDue {
		p.resumeDue = false
		if !p.resume(now) {
			return false
		}
	}
	if h := p.hs; h != nil && h.sendDue {
		p.pollRTS(now, out)
		return true
	}
	switch p.state {
	case native:
		return p.pollNative(now, out)
	case extended:
		return p.pollX(now, out)
	}
	return false
}

// resume continues what waited for the Conn to take bytes. It reports whether the peer is still there.
func (p *Peer) resume(now int64) bool {
	switch p.state {
	case native:
		return p.resumeNative()
	case extended:
		return p.resumeX(now)
	}
	return true
}

// deadline returns the next deadline of the peer; 0: none.
func (p *Peer) deadline() int64 {
	var at int64
	if p.hs != nil {
		at = p.hs.due
	}
	var more int64
	switch p.state {
	case native:
		more = p.deadlineNative()
	case extended:
		more = p.deadlineX()
	}
	if at == 0 || more != 0 && more < at {
		at = more
	}
	// The end of a pause counts, too: the Conn paused because it had worked long for this peer
	// (xengine.PauseNanos).
	if p.armPause(); p.conn.Paused() {
		if until := p.e.pauses[p]; at == 0 || until < at {
			return until
		}
	}
	return at
}

// advance serves the deadlines of p that have come.
func (e *Engine) advance(p *Peer, now int64) {
	// The pause is over. The Conn may pause again at once.
	if until := p.e.pauses[p]; until != 0 && until <= now {
		delete(p.e.pauses, p)
		p.conn.Unpause()
		p.armPause()
		if !p.checkConn(nil) {
			return
		}
	}
	if p.hs != nil && p.hs.due <= now {
		e.advanceHandshake(p, now)
	}
	switch p.state {
	case native:
		p.advanceNative(now)
	case extended:
		p.advanceX(now)
	}
}

// passDone sends acknowledgements that waited for an answer to travel with.
func (p *Peer) passDone(now int64) {
	if p.state == extended {
		p.passDoneX(now)
	}
}
