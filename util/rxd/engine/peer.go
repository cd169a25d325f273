package engine

import (
	"net/netip"

	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
)

// state is where a peer stands.
//
//	requesting -> native | extended -> gone       we spoke first
//	native | extended -> gone                     the peer did
type state uint8

const (
	requesting state = iota // RTS is out, no answer yet
	native                  // up, speaks packets of version 2
	extended                // up, is gofabric
	gone                    // the engine has forgotten it
)

func (s state) String() string {
	return [...]string{"requesting", "native", "extended", "gone"}[s]
}

// Peer is one remote endpoint, from the first contact to its end: a peer that comes back is another Peer.
type Peer struct {
	// User is the driver's.
	User any
	// Addr is the peer's address, which identifies it.
	Addr netip.AddrPort

	e    *Engine
	conn *xengine.Conn
	hs   *handshake // until it is over
	nat  *gateway   // of native peers
	ext  *channel   // of gofabric peers

	local uint64 // the connection id that datagrams of the peer carry
	index uint32 // the index that packets of a native peer carry

	state   state
	passive bool // it came by itself
	queued  bool // in the ready list
	touched bool // in the list for Quiet
	resumed bool // conn takes bytes again

	place                  queue.Place // in Engine.due
	nextReady, nextTouched *Peer
}

// Conn is the stream of operations to the peer.
func (p *Peer) Conn() *xengine.Conn { return p.conn }

// Up reports whether the handshake is done; Native whether the peer is native, and so knows no extension.
func (p *Peer) Up() bool { return p.state == native || p.state == extended }

// Native: see Up.
func (p *Peer) Native() bool { return p.state == native }

// Gone reports whether the peer has ended.
func (p *Peer) Gone() bool { return p.state == gone }

// newPeer makes a peer whose Conn waits for it.
func (e *Engine) newPeer(addr netip.AddrPort, fi uint64) *Peer {
	p := &Peer{Addr: addr, e: e, state: requesting}
	if old := e.peers[addr]; old != nil {
		panic("BUG: rxd: two peers at " + addr.String())
	}
	e.peers[addr] = p
	p.conn = xengine.NewWaiting(e.pool, e.cfg.Conn, e.rx, e.mem, e.hooks.Sink(p))
	p.conn.User, p.conn.Src = p, fi
	if e.cfg.Ends != nil {
		p.conn.Way = func() (xengine.Ends, bool) { return e.cfg.Ends(addr) }
	}
	return p
}

// newPassive makes a peer that came by itself, nil if there are too many.
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

// becomeUp tells that the handshake is done, and lets go what waited for it.
func (p *Peer) becomeUp(s state) {
	p.state = s
	p.conn.Extended = true // atomics: the gateway translates them
	p.conn.Ours = s == extended
	if s == native {
		p.conn.Reconfigure(&p.e.natConn)
	}
	p.conn.Rendezvous = s == extended && p.e.cfg.Rendezvous
	p.e.hooks.PeerUp(p)
	if p.state != s { // the hook has removed it
		return
	}
	p.checked(p.conn.Ready())
	p.e.Posted(p)
}

// checked ends the peer if its Conn has ended, and reports whether the peer lives.
func (p *Peer) checked(err error) bool {
	if p.state == gone {
		return false
	}
	if err == nil && p.conn.State() != xengine.Closed {
		return true
	}
	if e := p.e; e.failed == p {
		err = e.why
	}
	if err == nil {
		err = xengine.ErrProtocol
	}
	p.e.lose(p, err, true)
	return false
}

// lose ends a peer. tell: the driver is to hear of it.
func (e *Engine) lose(p *Peer, err error, tell bool) {
	delete(e.pauses, p)
	p.state = gone
	if e.peers[p.Addr] == p {
		delete(e.peers, p.Addr)
	}
	if e.last == p {
		e.last = nil
	}
	if p.passive {
		e.passive--
	}
	e.due.Remove(p.place)
	if p.nat != nil {
		p.nat.free(e)
		e.remember(p)
	}
	if p.ext != nil {
		p.closeX()
	}
	p.hs = nil
	if tell {
		p.conn.Fail(err)
		e.hooks.PeerFailed(p, err)
	} else {
		p.conn.Drop(err)
	}
	p.nat, p.ext = nil, nil
	if e.failed == p {
		e.failed, e.why = nil, nil
	}
}

// fail ends a peer and tells the driver.
func (p *Peer) fail(err error) {
	if p.state != gone {
		p.e.lose(p, err, true)
	}
}

// poll fills in the peer's next datagram.
func (p *Peer) poll(now int64, out *Out) bool {
	if p.state == gone {
		return false
	}
	if p.resumed {
		p.resumed = false
		if !p.goOn(now) {
			return false
		}
	}
	if h := p.hs; h != nil && h.send {
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

// goOn does what waited for the Conn to take bytes again.
func (p *Peer) goOn(now int64) bool {
	switch p.state {
	case native:
		return p.resumeNative()
	case extended:
		return p.resumeX(now)
	}
	return true
}

// deadline is when the peer wants to be looked at, 0 never.
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
	if p.pause(); p.conn.Paused() {
		if until := p.e.pauses[p]; at == 0 || until < at {
			return until
		}
	}
	return at
}

// advance does what is due.
func (e *Engine) advance(p *Peer, now int64) {
	if until := p.e.pauses[p]; until != 0 && until <= now {
		delete(p.e.pauses, p)
		p.conn.Unpause()
		p.pause()
		if !p.checked(nil) {
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

// quiet hurries what waited for company.
func (p *Peer) quiet(now int64) {
	if p.state == extended {
		p.quietX(now)
	}
}
