package cm

import (
	"bytes"
	"cmp"
	"net/netip"

	"gofabric/internal/mono"
)

// Request is a peer's request for a connection, with its description of itself.
type Request struct {
	Addr   netip.AddrPort // its listening address
	ID     uint32         // its incarnation
	Index  uint8          // number of the auxiliary connection that it requests; 0: the main one
	Hidden bool           // it accepts no connections
}

// Requested is the event that a request has arrived on c. The previous connection is read first where it can change
// the decision.
func (m *Machine) Requested(c *Conn, r Request, now mono.Time) {
	if c.state != Accepted {
		return
	}
	c.state = Deciding
	if p := m.peers[r.Addr]; p != nil && r.Index == 0 {
		switch {
		case p.leaving != nil: // its last messages
			m.do(Action{Kind: Receive, Conn: p.leaving})
		case p.main.state == Up && p.main.id == r.ID && r.Addr != m.local: // its close
			m.do(Action{Kind: Receive, Conn: p.main})
		}
	}
	m.do(Action{Kind: decide, Conn: c, req: &r, now: now})
}

// Invalid is the event that an invalid request has arrived on c.
func (m *Machine) Invalid(c *Conn) {
	if c.state == Accepted {
		m.refuse(c, false)
	}
}

// refuse refuses the request on c.
func (m *Machine) refuse(c *Conn, crossed bool) {
	m.remove(c)
	m.do(Action{Kind: Refuse, Conn: c, Crossed: crossed})
}

// verdict is the decision on a request.
type verdict uint8

const (
	accept verdict = iota
	acceptLoop
	refuseCrossed
	refuseStray
)

// decide is the second half of Requested.
func (m *Machine) decide(c *Conn, r *Request, now mono.Time) {
	if c.state != Deciding {
		return // it has failed in the meantime
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

// judge decides on the request r. p is its sender, nil if there is no connection to it.
func (m *Machine) judge(p *Peer, r *Request, now mono.Time) verdict {
	if r.Addr == m.local {
		// The request is ours, or of a process that claims our address. If no request of ours is out, it is one
		// that was given up.
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
			return refuseCrossed // the peer gives up its request in favour of ours
		}
	case Up:
		switch {
		case m.probe.Broken(old):
		case old.id == r.ID:
			// It crossed ours, and its sender has given it up. But if the peer repeats it after Crossing, the peer
			// has lost the connection that is still up here.
			if now-old.since <= Crossing {
				return refuseCrossed
			}
		case old.id == 0:
			return refuseCrossed
		}
	}
	return accept
}

// accept makes c the main connection to the sender of r. The operations that wait on the previous one move to c.
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

// compareAddr orders addresses as libfabric does (ofi_addr_cmp, src/common.c): family, address bytes, port.
func compareAddr(a, b netip.AddrPort) int {
	x, y := a.Addr().Unmap(), b.Addr().Unmap()
	if x.Is4() != y.Is4() { // AF_INET is less than AF_INET6 on all systems
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
