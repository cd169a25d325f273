package cm

import "gofabric/internal/mono"

// Auxiliary connections (FI_OFI_RXM_NUM_MSG_EPS, fi_rxm(7)): a peer can have several connections besides its main
// one, for operations that may overtake. As in libfabric, both ends number them from 1. Either end opens one that
// it needs, and both use all of them. Crossing requests for one number are decided like those for the main
// connection. When one ends, only its operations fail, since the peer may just be closing its connections in
// another order.

// auxSlot is the state of one number.
type auxSlot struct {
	conn   *Conn
	failed int       // failed attempts in a row
	next   mono.Time // time of the next attempt
}

// Retries of an auxiliary connection: auxPause is the pause before the next attempt, ns, doubled with each. After
// auxAttempts the peer counts as having no such number.
const (
	auxPause    mono.Time = 10e6
	auxAttempts int       = 8
)

// WantAux dials an auxiliary connection to the peer of c. It does nothing if there is one, or if the peer has
// refused it recently or too often.
func (m *Machine) WantAux(c *Conn, index uint8, now mono.Time) {
	p := c.peer
	if int(index) > m.cfg.Aux || c != p.main || c.state != Up || p.addr == m.local {
		return
	}
	s := m.slot(p, index)
	if s.conn != nil || s.failed >= auxAttempts || s.failed > 0 && now < s.next {
		return
	}
	s.conn = m.newConn(p, Dialing)
	s.conn.role, s.conn.index = roleAux, index
	m.becomeDialing(s.conn)
}

// AuxRefused reports that the peer has refused the number too often.
func (c *Conn) AuxRefused(index uint8) bool {
	return int(index) <= len(c.peer.aux) && c.peer.aux[index-1].failed >= auxAttempts
}

func (m *Machine) slot(p *Peer, index uint8) *auxSlot {
	if p.aux == nil {
		p.aux = make([]auxSlot, m.cfg.Aux)
	}
	return &p.aux[index-1]
}

// decideAux decides on a request for an auxiliary connection.
func (m *Machine) decideAux(c *Conn, r *Request, now mono.Time) {
	p := m.peers[r.Addr]
	if int(r.Index) > m.cfg.Aux || p == nil || r.Addr == m.local || p.main.state != Up || m.probe.Broken(p.main) || p.main.id != 0 && p.main.id != r.ID {
		m.refuse(c, false)
		return
	}
	s := m.slot(p, r.Index)
	if there := s.conn; there != nil {
		if there.state == Up || compareAddr(r.Addr, m.local) < 0 { // the peer gives up its request in favour of ours
			m.refuse(c, there.state != Up)
			return
		}
		m.becomeClosed(there, Ended)
	}
	s.conn = c
	c.peer, c.role, c.index, c.id = p, roleAux, r.Index, r.ID
	m.becomeUp(c, now)
	m.do(Action{Kind: Accept, Conn: c})
}

// auxFailed delays the next attempt for c's number.
func (m *Machine) auxFailed(c *Conn, now mono.Time) {
	if c.state == Draining {
		return
	}
	s := &c.peer.aux[c.index-1]
	s.failed = min(s.failed+1, auxAttempts)
	s.next = now + auxPause<<s.failed
}

// releaseSlot removes c from the slot of its number.
func (m *Machine) releaseSlot(c *Conn) {
	if c.role == roleAux && c.state != Draining {
		if s := &c.peer.aux[c.index-1]; s.conn == c {
			s.conn = nil
		}
	}
}

// endAux ends all auxiliary connections of p. With orderly, the peer's data on them is received first.
func (m *Machine) endAux(p *Peer, orderly bool, now mono.Time) {
	for i := range p.aux {
		c := p.aux[i].conn
		switch {
		case c == nil:
		case orderly && c.state == Up:
			m.becomeDraining(c, now)
		default:
			m.becomeClosed(c, Ended)
		}
	}
}

func (p *Peer) countAux() (n int) {
	for i := range p.aux {
		if p.aux[i].conn != nil {
			n++
		}
	}
	return n
}
