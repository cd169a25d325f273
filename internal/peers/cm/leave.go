package cm

import (
	"cmp"
	"slices"

	"gofabric/internal/mono"
)

// A connection that nothing has happened on for a while can be closed without notice: the next operation connects anew. A peer of this module and we agree on it:
//
//	end that has enough of it                          the other
//	nothing under way: bye                      ->
//	what is posted from now on waits
//	                                            <-     nothing under way here either: bye, and it closes; or stay
//	closes, and connects anew if something waits
//
// What the other end said before its bye is received as ever. A native peer sees the end of our stream, and closes its own.

// Bye says that the peer says nothing more on c until it has our answer.
func (m *Machine) Bye(c *Conn, now mono.Time) {
	switch {
	case c.state == Leaving: // we have said so, too
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

// Stay says that the peer does not want to part.
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
	m.becomeUp(c, now) // not the longest idle any more
	c.since = since
}

// idle reports that the end of c would not be noticed.
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

// settled reports that no request of ours, or of a peer without words, can still be on its way that was given up for c. A peer that finds such a request when the
// connection is gone takes it, and loses what it says there.
func (c *Conn) settled(now mono.Time) bool { return c.words && !c.crossed || now-c.since > Crossing }

// leave begins to close c, which is idle, from our end.
func (m *Machine) leave(c *Conn, now mono.Time) {
	p := c.peer
	p.leaving = c
	p.main = m.newConn(p, Waiting)
	p.main.User = c.User
	m.becomeLeaving(c, now)
	m.do(Action{Kind: Leave, Conn: c, Other: p.main})
}

// unanswered reports that a peer of our kind with this incarnation has not said yet whether it parts, or that its answer is still on its way. Its request is to
// come again. A peer that does not answer for too long has lost the connection.
func (m *Machine) unanswered(c *Conn, id uint32, now mono.Time) bool {
	return c.words && !m.probe.Broken(c) && (c.id == 0 || c.id == id) && now-c.left <= Crossing
}

// part closes c, which was left: both ends are done with it. The peer is connected to anew if there is a reason.
func (m *Machine) part(c *Conn, orderly bool, now mono.Time) {
	p := c.peer
	m.endAux(p, orderly, now)
	m.dropLeft(p)
	m.do(Action{Kind: revive, Conn: p.main, now: now})
}

// dropLeft ends the connection that was left, if there is one; what came on it belongs to the next.
func (m *Machine) dropLeft(p *Peer) {
	if c := p.leaving; c != nil {
		m.do(Action{Kind: Adopt, Conn: p.main, Other: c})
		m.becomeClosed(c, Ended)
	}
}

// revive dials c, which waited for the end of the connection before, if something waits for it.
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

// leftTooLong is called when the peer has not answered our bye for Patience. It may be native, and busy: the connection is given up only for operations that
// wait.
func (m *Machine) leftTooLong(c *Conn, now mono.Time) {
	if m.probe.Wanted(c.peer.main) {
		m.part(c, false, now)
		return
	}
	m.setDeadline(c, now+m.cfg.Patience)
}

// look closes connections that are idle for too long, or the longest idle of too many. One that is in use is never closed.
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

// notice notes whether anything has happened on c, or an auxiliary connection to the same peer, since the last look.
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
