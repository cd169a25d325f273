package peers

import (
	"bytes"
	"cmp"
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/conduit"
	"gofabric/internal/mono"
	"gofabric/internal/xnet/engine"
)

// acceptor is the Set as listeners see it.
type acceptor Set

// Accepted implements conduit.Acceptor.
func (a *acceptor) Accepted(l conduit.Link) {
	s := (*Set)(a)
	cfg := &s.cfg
	p := &Peer{Endpoint: cfg.Endpoint, set: s, fi: core.AddrNotAvail}
	p.Conn = engine.NewPassive(cfg.Pool, cfg.Conn, p, int64(mono.Now()))
	p.Conn.User = p
	if err := l.Attach(p.Conn); err != nil {
		return
	}
	p.Link = l
	s.t.all[p] = struct{}{}
}

// Requested implements engine.Sink: a peer wants to connect. The rules are native's (xnet_process_connreq, rxm_process_connreq), that two endpoints which
// connect to each other at the same moment agree on one connection.
func (p *Peer) Requested(c *engine.Conn, data []byte) {
	s := p.set
	cfg := &s.cfg
	if c.Denied() {
		s.Denied++
		p.refuse(nil, false)
		return
	}
	data = bytes.Clone(data) // what is looked at next may be received into the same memory
	claim, err := cfg.Manners.Asked(c, data)
	if err != nil {
		p.refuse(data, false)
		return
	}
	s.measure(p.Link)
	p.addr = netip.AddrPortFrom(p.Link.Peer().Addr().Unmap(), claim.Port)
	if claim.Index > 0 {
		p.asksLane(c, claim, data)
		return
	}
	if o := s.t.byAddr[p.addr]; o != nil && o.old != nil {
		o.old.link.Receive() // its last words on the connection before are older than this
	}
	old := s.t.byAddr[p.addr]
	if old != nil && !p.replaces(old, claim) {
		p.refuse(data, true)
		return
	}
	if claim.Hidden {
		s.t.hide(p.addr)
	}
	p.fi, p.id = p.AV().ReverseAddrPort(p.addr), claim.ID
	c.Src = uint64(p.fi)
	c.Attach(cfg.Pool, cfg.Conn, cfg.Rx, cfg.Memory, p.sink())
	var b [dataMax]byte
	c.Accept(cfg.Manners.Take(p, c, data, b[:0]))
	if old != nil && p.role == loopNone {
		p.inherit(old)
		s.t.remove(old)
		old.drop(engine.ErrPeerClose)
	}
	s.t.add(p)
	s.tend()
}

// inherit takes over what waits for a connection that p's replaces.
func (p *Peer) inherit(old *Peer) {
	p.crossed = old.Link != nil && old.Conn.State() < engine.Connected
	old.dropOld(engine.ErrPeerClose)
	if old.Conn.State() == engine.Opening {
		p.Conn.AdoptMessages(old.Conn)
	}
	p.Conn.Adopt(old.Conn)
}

// replaces decides what becomes of a request when there is a connection to that peer, or one under way.
func (p *Peer) replaces(old *Peer, claim Claim) bool {
	s := p.set
	self := p.addr == s.local
	if old.old.unanswered(claim.ID) {
		return false
	}
	if old.Conn.State() == engine.Connected && old.id != 0 && old.id == claim.ID && !self && old.Link != nil {
		old.Link.Receive() // a close that came before the request is seen before it
	}
	switch old.Conn.State() {
	case engine.Opening, engine.Requesting:
		if old.waiting {
			return true // we have no request out: this is the one to take
		}
		switch compareAddr(p.addr, s.local) {
		case -1:
			return false // the peer gives up for ours
		case 0:
			old.role, p.role = loopTx, loopRx
			return true
		}
		return true
	case engine.Connected, engine.Deciding:
		if old.role == loopTx && self {
			p.role = loopRx
			return true
		}
		if old.id == claim.ID {
			// A request that crossed ours, usually, and the peer has given it up. But a peer that asks again and again has lost the connection
			// that we still believe in.
			return mono.Now().Sub(old.since) > crossing
		}
		return old.id != 0 // restarted: its old connection is dead
	}
	return true
}

// crossing is how long after a connection came up a request of the same peer can still have crossed it on its way.
const crossing = 3 * time.Second

// compareAddr orders addresses as native does (ofi_addr_cmp): family, address bytes, port.
func compareAddr(a, b netip.AddrPort) int {
	x, y := a.Addr().Unmap(), b.Addr().Unmap()
	if x.Is4() != y.Is4() { // AF_INET is less than AF_INET6 everywhere
		if x.Is4() {
			return -1
		}
		return 1
	}
	if c := bytes.Compare(x.AsSlice(), y.AsSlice()); c != 0 {
		return c
	}
	return cmp.Compare(a.Port(), b.Port())
}

// refuse turns a request down.
func (p *Peer) refuse(data []byte, crossed bool) {
	var b [dataMax]byte
	p.Conn.Reject(p.set.cfg.Manners.Refuse(data, crossed, b[:0]))
	l := p.Link
	p.Link = nil
	l.Finish()
	p.Conn.Drop(engine.ErrClosed) // gives back what the transport did not take
	delete(p.set.t.all, p)
}
