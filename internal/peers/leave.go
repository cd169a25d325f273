package peers

import (
	"slices"
	"time"

	"gofabric/internal/conduit"
	"gofabric/internal/mono"
	"gofabric/internal/xnet/engine"
)

// A connection that nothing has happened on for a while can be closed without anybody's noticing: the next operation connects anew. A peer of this module and
// we agree on it (engine.Leaver):
//
//	end that has enough of it                          the other
//	nothing under way: bye                      ->
//	what is posted from now on waits
//	                                            <-     nothing under way here either: bye, and it closes; or stay
//	closes, and connects anew if something waits
//
// What the other said before its bye is received as ever. A native peer sees the end of our stream, and closes its own.

// leaving is a connection that is on its way out. What is posted meanwhile waits for the next one.
type leaving struct {
	conn *engine.Conn
	link conduit.Link
	user any
	id   uint32
	// lanes end with it.
	lanes *lanes
	since mono.Time // when it was put aside
}

// lookEvery is how often connections are looked at, with a bound of their number or of their idleness.
const lookEvery = time.Second

// leaver implements engine.Leaver.
type leaver struct{}

// Bye implements engine.Leaver.
func (leaver) Bye(c *engine.Conn) {
	p, ok := c.User.(*Peer)
	switch {
	case !ok:
		c.SayStay()
	case p.old != nil && p.old.conn == c: // we have said so, too
		p.part()
	case p.Conn != c: // replaced
	case !p.idle():
		c.SayStay()
	default:
		l := p.Link
		p.Link = nil
		c.SayBye()
		l.Finish()
		ls := p.lanes
		p.lanes = nil
		p.set.partLanes(ls)
		p.set.t.remove(p)
		c.Drop(engine.ErrPeerClose)
	}
}

// Stay implements engine.Leaver.
func (leaver) Stay(c *engine.Conn) {
	if p, ok := c.User.(*Peer); ok && p.old != nil && p.old.conn == c {
		p.comeBack()
	}
}

// idle reports that the end of p's connection would not be noticed.
func (p *Peer) idle() bool {
	return p.Conn.State() == engine.Connected && p.old == nil && p.role == loopNone && p.Link != nil && p.Conn.Idle() && p.Link.AtRest() && p.lanes.idle() && p.settled()
}

// settled reports that no request of ours, or of a peer that does not tell, can still be on its way that was given up for this connection. Who finds such a
// request when the connection is gone takes it, and loses what it says there.
func (p *Peer) settled() bool {
	return p.Conn.Ours && !p.crossed || mono.Now().Sub(p.since) > crossing
}

// leave puts p's connection aside.
func (p *Peer) leave() {
	now := mono.Now()
	p.old = &leaving{p.Conn, p.Link, p.User, p.id, p.lanes, now}
	p.renew(now)
	p.Link, p.User, p.lanes, p.waiting = nil, nil, nil, true
}

// comeBack goes on with the connection that was put aside.
func (p *Peer) comeBack() {
	o, c := p.old, p.Conn
	p.old, p.Conn, p.Link, p.User, p.id, p.lanes, p.waiting = nil, o.conn, o.link, o.user, o.id, o.lanes, false
	p.used = mono.Now() // not the longest idle any more
	p.set.cfg.Rx.SetSource(p.Conn, uint64(p.fi))
	p.Conn.Adopt(c)
	p.Link.Replied()
}

// part closes the connection that was put aside, with which both ends are done, and connects anew if there is a reason.
func (p *Peer) part() {
	if o := p.old; o.user == nil {
		p.set.partLanes(o.lanes)
		o.lanes = nil
	}
	p.dropOld(engine.ErrPeerClose)
	if p.Conn.Idle() {
		p.waiting = false
		p.set.t.remove(p)
		return
	}
	now := mono.Now()
	p.giveUp, p.tries = now.Add(p.set.cfg.Patience), 0
	p.waitUntil(now)
}

// dropOld ends the connection that was put aside, if there is one; what came over it belongs to the next one.
func (p *Peer) dropOld(err error) {
	o := p.old
	if o == nil {
		return
	}
	p.old = nil
	p.Conn.Adopt(o.conn)
	p.Conn.AdoptMessages(o.conn)
	o.conn.Drop(err)
	o.link.Close()
	o.lanes.end(err)
}

// unanswered reports that a peer of our kind with this incarnation has not said yet whether it parts, or that its answer is still on its way. A request of its
// that comes meanwhile is an old one that it has given up, or has overtaken its answer, and what it said before that; it is to ask again. A peer that does so
// for too long has lost the connection.
func (o *leaving) unanswered(id uint32) bool {
	return o != nil && o.conn.Ours && o.conn.State() == engine.Connected && (o.id == 0 || o.id == id) && mono.Now().Sub(o.since) <= crossing
}

// Leaving is User of the connection that was put aside, nil if there is none.
func (p *Peer) Leaving() any {
	if p.old == nil {
		return nil
	}
	return p.old.user
}

// sendOff begins to close the connection, from our end.
func (p *Peer) sendOff() {
	c, l := p.Conn, p.Link
	if c.Ours {
		c.SayBye()
	}
	p.leave()
	if c.Ours {
		l.Replied()
		return
	}
	l.End()
}

// look notes whether anything has happened on p's connection since the last look.
func (p *Peer) look(now mono.Time) {
	c := p.Conn
	n := c.MsgsIn + c.MsgsOut + c.BytesIn + c.BytesOut
	for l := range p.lanes.each {
		n += l.Conn.BytesIn + l.Conn.BytesOut
	}
	if n != p.moved {
		p.moved, p.used = n, now
	}
}

// tend closes connections that are idle for too long, or the longest idle of too many. One that is in use is never closed.
func (s *Set) tend() {
	cfg := &s.cfg
	if cfg.MaxConns == 0 && cfg.IdleTime == 0 {
		return
	}
	now := mono.Now()
	var idle []*Peer
	count := 0
	for p := range s.t.all {
		if p.old != nil {
			continue
		}
		count += 1 + p.lanes.count()
		p.look(now)
		if p.idle() {
			idle = append(idle, p)
		}
	}
	slices.SortFunc(idle, func(a, b *Peer) int { return int(a.used.Sub(b.used)) })
	for _, p := range idle {
		if (cfg.MaxConns == 0 || count <= cfg.MaxConns) && (cfg.IdleTime == 0 || now.Sub(p.used) < cfg.IdleTime) {
			break
		}
		count -= 1 + p.lanes.count()
		p.sendOff()
	}
	s.watch(now)
}

// watch sees to it that tend is called again.
func (s *Set) watch(now mono.Time) {
	if s.tending == nil {
		s.tending = s.cfg.Below.Progress().Timer(func(mono.Time) { s.tend() })
	}
	if len(s.t.all) == 0 {
		s.tending.SetDeadline(0) // until there is a connection again
		return
	}
	every := lookEvery
	if t := s.cfg.IdleTime; t > 0 {
		every = min(every, max(t/4, time.Millisecond))
	}
	s.tending.SetDeadline(now.Add(every))
}
