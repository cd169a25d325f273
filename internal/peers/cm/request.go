package cm

import (
	"bytes"
	"cmp"
	"net/netip"

	"gofabric/internal/mono"
)

// Request is a peer's request for a connection, and what it says of itself.
type Request struct {
	Addr   netip.AddrPort // where it listens
	ID     uint32         // its incarnation
	Index  uint8          // of the auxiliary connection that this is to be, 0 for the main one
	Hidden bool           // it cannot be connected to
}

// Requested says that a request has come on c. What has come on the connection before is read first where it makes a difference.
func (m *Machine) Requested(c *Conn, r Request, now mono.Time) {
	if c.state != Accepted {
		return
	}
	c.state = Deciding
	if p := m.peers[r.Addr]; p != nil && r.Index == 0 {
		switch {
		case p.leaving != nil: // its last words
			m.do(Action{Kind: Receive, Conn: p.leaving})
		case p.main.state == Up && p.main.id == r.ID && r.Addr != m.local: // its close
			m.do(Action{Kind: Receive, Conn: p.main})
		}
	}
	m.do(Action{Kind: decide, Conn: c, req: &r, now: now})
}

// Invalid says that what has come on c is no request that we could accept.
func (m *Machine) Invalid(c *Conn) {
	if c.state == Accepted {
		m.refuse(c, false)
	}
}

// refuse turns the request on c down.
func (m *Machine) refuse(c *Conn, crossed bool) {
	m.remove(c)
	m.do(Action{Kind: Refuse, Conn: c, Crossed: crossed})
}

// verdict is what becomes of a request.
type verdict uint8

const (
	accept verdict = iota
	acceptLoop
	refuseCrossed
	refuseStray
)

// decide is the rest of Requested.
func (m *Machine) decide(c *Conn, r *Request, now mono.Time) {
	if c.state != Deciding {
		return // it has failed meanwhile
	}
	if r.Index > 0 {
		m.decideAux(c, r, now)
		return
	}
	p := m.peers[r.Addr]
	switch m.judge(p, r, now) {
	case refuseCrossed:
		m.refuse(c, true)
	case refuseStray:
		m.refuse(c, false)
	case acceptLoop:
		c.peer, c.role, c.id = p, roleBack, r.ID
		p.main.role = roleSelf
		m.becomeUp(c, now)
		m.do(Action{Kind: Accept, Conn: c})
	case accept:
		m.accept(c, p, r, now)
	}
}

// judge says what becomes of r, p being what there is of its sender, or nil.
func (m *Machine) judge(p *Peer, r *Request, now mono.Time) verdict {
	if r.Addr == m.local {
		// Ours, or of a process that claims our address. Without a request out it is one that was given up.
		if p != nil && (p.main.state == Dialing || p.main.role == roleSelf && p.main.state == Up) {
			return acceptLoop
		}
		return refuseStray
	}
	if p == nil {
		return accept
	}
	if p.leaving != nil && m.unanswered(p.leaving, r.ID, now) {
		return refuseCrossed
	}
	switch old := p.main; old.state {
	case Dialing:
		if compareAddr(r.Addr, m.local) < 0 {
			return refuseCrossed // the peer gives up for ours
		}
	case Up:
		switch {
		case m.probe.Broken(old):
		case old.id == r.ID:
			// It crossed ours on the way, and its sender has given it up. But a peer that asks again and again has lost the connection that we still
			// believe in.
			if now-old.since <= Crossing {
				return refuseCrossed
			}
		case old.id == 0:
			return refuseCrossed
		}
	}
	return accept
}

// accept makes c the connection to the sender of r. What waits for the one before it moves.
func (m *Machine) accept(c *Conn, p *Peer, r *Request, now mono.Time) {
	if r.Hidden && len(m.hidden) < hiddenMax {
		m.hidden[r.Addr] = struct{}{}
	}
	if p == nil {
		p = &Peer{addr: r.Addr}
		m.peers[r.Addr] = p
	}
	c.peer, c.id = p, r.ID
	m.becomeUp(c, now)
	m.do(Action{Kind: Accept, Conn: c})
	old := p.main
	if old != nil {
		c.crossed = old.state == Dialing
		m.dropLeft(p)
		m.endAux(p, false, now)
		p.main = c
		m.do(Action{Kind: Adopt, Conn: c, Other: old})
		m.becomeClosed(old, Ended)
	}
	p.main = c
	m.look(now)
}

// compareAddr orders addresses as native does (ofi_addr_cmp, src/common.c): family, address bytes, port.
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
