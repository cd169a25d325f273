package cm

import (
	"cmp"
	"slices"

	"gofabric/internal/mono"
)

// Leaving: an idle connection can be closed without effect on the application, since the next operation connects
// again. Two gofabric peers agree on it:
//
//	the end that leaves                                the other end
//	idle: bye                                   ->
//	later posts wait
//	                                            <-     idle, too: bye, and it closes; otherwise stay
//	closes, and connects again if posts wait
//
// Data that the other end sent before its bye is received as usual. A native peer sees the end of our stream, and
// closes its own.

// Bye is the event that the peer has sent bye on c. It sends nothing more until it has our answer.
func (m *Machine) Bye(c *Conn, now mono.Time) {
	switch {
	case c.state == Leaving: // both ends have sent bye
		m.part(c, true, now)
	case c.state != Up:
	case c.role == roleAux || !m.idle(c, now):
		m.do(Action{Kind: Stay, Conn: c})
	default:
		m.do(Action{Kind: Part, Conn: c})
		m.endAux(c.peer, true, now)
		m.becomeClosed(c, Ended)
	}
}

// Stay is the event that the peer wants to keep the connection.
func (m *Machine) Stay(c *Conn, now mono.Time) {
	if c.state != Leaving {
		return
	}
	p := c.peer
	next := p.main
	p.main, p.leaving = c, nil
	m.remove(next)
	m.do(Action{Kind: Return, Conn: c, Other: next})
	since := c.since
	m.becomeUp(c, now) // it is no longer the longest idle one
	c.since = since
}

// idle reports that the end of c would have no effect on operations.
func (m *Machine) idle(c *Conn, now mono.Time) bool {
	if c.state != Up || c.role != roleMain || !m.probe.Idle(c) || !c.settled(now) {
		return false
	}
	for i := range c.peer.aux {
		if a := c.peer.aux[i].conn; a != nil && (a.state != Up || !m.probe.Idle(a) || !a.settled(now)) {
			return false
		}
	}
	return true
}

// settled reports that no request that was given up in favour of c can still be on its way, neither ours nor one of
// a native peer. If such a request arrived after the connection has closed, the receiver would accept it, and lose
// the data that it sends there.
func (c *Conn) settled(now mono.Time) bool { return c.words && !c.crossed || now-c.since > Crossing }

// leave starts to close c, which is idle, from this end.
func (m *Machine) leave(c *Conn, now mono.Time) {
	p := c.peer
	p.leaving = c
	p.main = m.newConn(p, Waiting)
	p.main.User = c.User
	m.becomeLeaving(c, now)
	m.do(Action{Kind: Leave, Conn: c, Other: p.main})
}

// unanswered reports that a gofabric peer with this incarnation has not answered our bye yet, or that its answer is
// still on its way. Its request must be repeated. If Crossing has passed, the peer has lost the connection.
func (m *Machine) unanswered(c *Conn, id uint32, now mono.Time) bool {
	return c.words && !m.probe.Broken(c) && (c.id == 0 || c.id == id) && now-c.left <= Crossing
}

// part closes c, which was left, because both ends have finished. It connects to the peer again if operations wait.
func (m *Machine) part(c *Conn, orderly bool, now mono.Time) {
	p := c.peer
	m.endAux(p, orderly, now)
	m.dropLeft(p)
	m.do(Action{Kind: revive, Conn: p.main, now: now})
}

// dropLeft ends the connection that was left, if there is one. Its unexpected messages move to the next connection.
func (m *Machine) dropLeft(p *Peer) {
	if c := p.leaving; c != nil {
		m.do(Action{Kind: Adopt, Conn: p.main, Other: c})
		m.becomeClosed(c, Ended)
	}
}

// revive dials c, which has waited for the end of the previous connection, if operations wait on it.
func (m *Machine) revive(c *Conn, now mono.Time) {
	if c.state != Waiting || c != c.peer.main {
		return
	}
	if !m.probe.Wanted(c) {
		m.becomeClosed(c, Ended)
		return
	}
	c.giveUp, c.attempts = now+m.cfg.Patience, 0
	m.becomeDialing(c)
}

// leftTooLong is called when the peer has not answered our bye for Patience. It may be a native peer that is busy.
// The connection is therefore given up only if operations wait.
func (m *Machine) leftTooLong(c *Conn, now mono.Time) {
	if m.probe.Wanted(c.peer.main) {
		m.part(c, false, now)
		return
	}
	m.setDeadline(c, now+m.cfg.Patience)
}

// look closes connections that have been idle for IdleTime, and the longest idle ones above MaxConns. It never
// closes a connection in use.
func (m *Machine) look(now mono.Time) {
	cfg := &m.cfg
	if cfg.MaxConns == 0 && cfg.IdleTime == 0 {
		return
	}
	var idle []*Conn
	count := 0
	for _, c := range m.conns {
		if c.state == Leaving || c.state == Draining || c.peer != nil && c.peer.leaving != nil {
			continue
		}
		count++
		if c.role == roleAux {
			continue
		}
		c.notice(m.probe, now)
		if m.idle(c, now) {
			idle = append(idle, c)
		}
	}
	slices.SortStableFunc(idle, func(a, b *Conn) int { return cmp.Compare(a.used, b.used) })
	for _, c := range idle {
		if (cfg.MaxConns == 0 || count <= cfg.MaxConns) && (cfg.IdleTime == 0 || now-c.used < cfg.IdleTime) {
			break
		}
		count -= 1 + c.peer.countAux()
		m.leave(c, now)
	}
	m.lookAt = mono.None
	if len(m.conns) > 0 {
		every := lookEvery
		if cfg.IdleTime > 0 {
			every = min(every, max(cfg.IdleTime/4, lookMin))
		}
		m.lookAt = now + every
	}
}

// notice records the time if there was activity on c, or on an auxiliary connection to the same peer, since the
// last look.
func (c *Conn) notice(probe Probe, now mono.Time) {
	n := probe.Moved(c)
	if c.peer != nil {
		for i := range c.peer.aux {
			if a := c.peer.aux[i].conn; a != nil {
				n += probe.Moved(a)
			}
		}
	}
	if n != c.moved {
		c.moved, c.used = n, now
	}
}
