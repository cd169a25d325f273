package peers

import (
	"gofabric/internal/conduit"
	"gofabric/internal/front"
	"gofabric/internal/mono"
	"gofabric/internal/xnet/engine"
)

// A peer can have connections besides its own, lanes, for what may overtake (FI_OFI_RXM_NUM_MSG_EPS, fi_rxm(7)). As natively both ends number them from 1, either
// opens one that it has use for, and both use them all; what a lane would carry goes over the peer's own connection until it is up.
//
//	Pick: the next number                   nothing has that number: it connects          up: what is to be sent goes there
//
// A lane that ends takes along the operations on it, and nothing else: the peer may only have closed its connections in another order. Who refuses one time
// and again is not asked for it any more.

// LaneManners is what the ends of a lane say to each other; see Manners.
type LaneManners interface {
	// AskLane makes the private data of our request for l.
	AskLane(l *Lane, b []byte) []byte
	// TakeLane prepares l, whose request is about to be accepted on l.Conn, and makes the private data of the answer.
	TakeLane(l *Lane, b []byte) []byte
	// LaneUp tells that l is up; ours: that we have asked for it. False ends it, for it does not fit.
	LaneUp(l *Lane, ours bool) bool
}

// Lane is a further connection to a peer. It is its connection's engine.Sink, the endpoint being the Sink of completions.
type Lane struct {
	*front.Endpoint // Completed, Sent, Received
	// Conn is what operations are posted to when the lane is up. Its User is the Lane.
	Conn *engine.Conn
	// Link carries it; nil when it has ended.
	Link conduit.Link
	// User is the endpoint's.
	User any

	p     *Peer
	index uint8
	up    bool
}

// lanes are those of one peer.
type lanes struct {
	all  []*Lane // by number less 1; nil where there is none
	vain []vain
	last int // the number less 1 that Pick has looked at last
}

// vain are the connects of one number that came to nothing.
type vain struct {
	tries int
	next  mono.Time // when to try again
}

// Of a lane that is refused: the pause before the next attempt, and after how many the peer is taken not to have it.
const (
	lanePause    = 10e6 // ns; doubled each time
	laneTriesMax = 8
)

// Peer is whose lane it is; Index its number, from 1.
func (l *Lane) Peer() *Peer  { return l.p }
func (l *Lane) Index() uint8 { return l.index }

// Pick is where the next thing goes that may overtake: a lane that is up, or nil for the peer's own connection. Lanes that are missing are opened by and by.
func (p *Peer) Pick() *Lane {
	n := p.set.cfg.Lanes
	if n == 0 || p.role != loopNone || p.old != nil || p.Conn.State() != engine.Connected {
		return nil
	}
	ls := p.someLanes()
	ls.last = (ls.last + 1) % n
	switch l := ls.all[ls.last]; {
	case l != nil && l.up:
		return l
	case l == nil && ls.vain[ls.last].tries < laneTriesMax:
		p.openLane(uint8(ls.last + 1))
	}
	return nil
}

// someLanes makes room for p's lanes, which most peers do not have.
func (p *Peer) someLanes() *lanes {
	if p.lanes == nil {
		p.lanes = &lanes{all: make([]*Lane, p.set.cfg.Lanes), vain: make([]vain, p.set.cfg.Lanes)}
	}
	return p.lanes
}

// each visits all lanes, those on their way included. ls may be nil.
func (ls *lanes) each(yield func(*Lane) bool) {
	if ls == nil {
		return
	}
	for _, l := range ls.all {
		if l != nil && !yield(l) {
			return
		}
	}
}

// Lanes visits those that are up.
func (p *Peer) Lanes(yield func(*Lane) bool) {
	for l := range p.lanes.each {
		if l.up && !yield(l) {
			return
		}
	}
}

// openLane connects.
func (p *Peer) openLane(index uint8) {
	now := mono.Now()
	if v := &p.lanes.vain[index-1]; v.tries > 0 && now < v.next {
		return
	}
	cfg := &p.set.cfg
	l := &Lane{Endpoint: p.Endpoint, p: p, index: index}
	l.Conn = engine.NewActive(cfg.Pool, cfg.Conn, cfg.Rx, cfg.Memory, p.SinkOver(l), int64(now))
	l.Conn.User, l.Conn.Src = l, uint64(p.fi)
	p.lanes.all[index-1] = l
	link, err := cfg.Below.Dial(p.Info(), p.addr, l.Conn, func() {
		var b [dataMax]byte
		l.Conn.Start(cfg.Lane.AskLane(l, b[:0]))
	})
	if err != nil {
		l.forget(true)
		l.Conn.Drop(err)
		return
	}
	l.Link = link
	p.set.measure(link)
}

// asksLane is Requested of a connection that is to be a lane, which p was made for.
func (p *Peer) asksLane(c *engine.Conn, claim Claim, data []byte) {
	s := p.set
	cfg := &s.cfg
	o := s.t.byAddr[p.addr]
	i := int(claim.Index) - 1
	if cfg.Lanes <= i || o == nil || o.Conn.State() != engine.Connected || o.old != nil || o.role != loopNone || o.id != 0 && o.id != claim.ID {
		p.refuse(data, false)
		return
	}
	ls := o.someLanes()
	if there := ls.all[i]; there != nil {
		if there.up || compareAddr(p.addr, s.local) < 0 { // the peer gives up for ours, as with its first connection
			p.refuse(data, !there.up)
			return
		}
		there.end(engine.ErrPeerClose)
	}
	l := &Lane{Endpoint: o.Endpoint, Conn: c, Link: p.Link, p: o, index: claim.Index}
	delete(s.t.all, p)
	ls.all[i] = l
	c.User, c.Src = l, uint64(o.fi)
	c.Attach(cfg.Pool, cfg.Conn, cfg.Rx, cfg.Memory, o.SinkOver(l))
	var b [dataMax]byte
	c.Accept(cfg.Lane.TakeLane(l, b[:0]))
}

// forget takes l out of its peer; failed: after an attempt in vain.
func (l *Lane) forget(failed bool) {
	l.up = false
	ls := l.p.lanes
	if ls == nil || ls.all[l.index-1] != l {
		return
	}
	ls.all[l.index-1] = nil
	if failed {
		v := &ls.vain[l.index-1]
		v.tries = min(v.tries+1, laneTriesMax)
		v.next = mono.Now() + mono.Time(int64(lanePause)<<v.tries)
	}
}

// end ends l without a word to anybody but those whose operations fail.
func (l *Lane) end(err error) {
	l.forget(false)
	l.Conn.Drop(err)
	l.closeLink()
}

func (l *Lane) closeLink() {
	if k := l.Link; k != nil {
		l.Link = nil
		k.Close()
	}
}

// Connected implements engine.Sink.
func (l *Lane) Connected(_ *engine.Conn, data []byte) {
	if !l.p.set.cfg.Lane.LaneUp(l, len(data) > 0) {
		l.Conn.Fail(engine.ErrProtocol)
		return
	}
	l.up = true
	if ls := l.p.lanes; ls != nil {
		ls.vain[l.index-1].tries = 0
	}
}

// Failed implements engine.Sink.
func (l *Lane) Failed(*engine.Conn, error, []byte) {
	delete(l.p.set.parting, l)
	l.forget(true)
	l.closeLink()
}

// Requested implements engine.Sink; it is never called.
func (l *Lane) Requested(*engine.Conn, []byte) {}

// Replied and Resumed implement engine.Sink.
func (l *Lane) Replied(*engine.Conn) {
	if l.Link != nil {
		l.Link.Replied()
	}
}

func (l *Lane) Resumed(*engine.Conn) {
	if l.Link != nil {
		l.Link.Resumed()
	}
}

// conns visits their connections, and reports whether yield wants more.
func (ls *lanes) conns(yield func(*engine.Conn) bool) bool {
	for l := range ls.each {
		if !yield(l.Conn) {
			return false
		}
	}
	return true
}

// idle reports that the end of the lanes would not be noticed. ls may be nil.
func (ls *lanes) idle() bool {
	for l := range ls.each {
		if !l.up || !l.Conn.Idle() || !l.Link.AtRest() {
			return false
		}
	}
	return true
}

// count is how many there are.
func (ls *lanes) count() (n int) {
	for range ls.each {
		n++
	}
	return n
}

// endLanes ends all of p's.
func (p *Peer) endLanes(err error) {
	ls := p.lanes
	p.lanes = nil
	ls.end(err)
}

// failLanes is called when p's connection has failed: a peer that has closed may have said more on its lanes.
func (p *Peer) failLanes(err error) {
	if err != engine.ErrPeerClose || p.User != nil {
		p.endLanes(err)
		return
	}
	ls := p.lanes
	p.lanes = nil
	p.set.partLanes(ls)
}

func (ls *lanes) end(err error) {
	for l := range ls.each {
		l.end(err)
	}
}

// partLanes closes lanes of a peer that closes its ends, too. What it said there may still be on its way: they are received from until their end.
func (s *Set) partLanes(ls *lanes) {
	for l := range ls.each {
		if !l.up {
			l.end(engine.ErrPeerClose)
			continue
		}
		l.up = false
		if s.parting == nil {
			s.parting = map[*Lane]struct{}{}
		}
		s.parting[l] = struct{}{}
		if l.Link.End(); l.Link == nil {
			continue // it has ended
		}
		s.cfg.Below.Progress().After(mono.Now().Add(crossing), func(mono.Time) {
			if _, still := s.parting[l]; still {
				delete(s.parting, l)
				l.end(engine.ErrPeerClose)
			}
		})
	}
}

// finish ends l as the endpoint does that closes.
func (l *Lane) finish() {
	l.forget(false)
	if k := l.Link; k != nil {
		l.Link = nil
		k.Finish()
	}
	l.Conn.Drop(engine.ErrClosed)
}

// Spread implements front.Spreader.
func (s *Set) Spread(c *engine.Conn) *engine.Conn {
	p, ok := c.User.(*Peer)
	if !ok || p.User != nil { // something stands between, and sees to it itself
		return c
	}
	if l := p.Pick(); l != nil {
		return l.Conn
	}
	return c
}
