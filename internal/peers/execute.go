package peers

import (
	"gofabric/internal/mono"
	"gofabric/internal/peers/cm"
	"gofabric/internal/xnet/engine"
)

// run executes the machine's actions. An event during an action is handled by the outer call of run.
func (s *Set) run() {
	if s.running {
		return
	}
	s.running = true
	for a, ok := s.m.Next(); ok; a, ok = s.m.Next() {
		s.execute(a)
	}
	s.running = false
	if at := s.m.Deadline(); at != s.armed {
		s.arm(at)
	}
}

// arm sets the one timer of the Set to the machine's deadline.
func (s *Set) arm(at mono.Time) {
	if s.timer == nil {
		s.timer = s.cfg.Below.Progress().Timer(s.tick)
	}
	s.armed = at
	s.timer.SetDeadline(at)
}

func (s *Set) tick(now mono.Time) {
	s.armed = mono.None
	s.m.Tick(now)
	s.run()
}

// reasons maps cm's reasons to the errors of operations.
var reasons = [...]error{cm.Ended: engine.ErrPeerClose, cm.Rejected: engine.ErrRefused, cm.Canceled: engine.ErrClosed}

// execute passes an action to the owner of its connection.
func (s *Set) execute(a cm.Action) {
	switch u := a.Conn.User.(type) {
	case nil: // a new auxiliary connection
		if a.Kind == cm.Dial {
			a.Conn.Main().User.(*Peer).dialAux(a.Conn)
		}
	case *AuxConn:
		u.execute(a)
	case *Peer:
		if a.Kind == cm.Accept && a.Conn.Index() > 0 {
			u.acceptAux(a.Conn)
			return
		}
		u.execute(a)
	}
}

func (p *Peer) execute(a cm.Action) {
	switch a.Kind {
	case cm.Dial:
		p.dial()
	case cm.Accept:
		p.accept()
	case cm.Refuse:
		p.refuse(a.Crossed)
	case cm.Receive:
		if _, l := p.of(a.Conn); l != nil {
			l.Receive()
		}
	case cm.Adopt:
		p.adopt(a.Conn, a.Other)
	case cm.Leave:
		p.leave(a.Other)
	case cm.Return:
		p.returnToLeft()
	case cm.Part:
		p.finish(p.Conn.SayBye)
	case cm.Stay:
		p.Conn.SayStay()
	case cm.Drop:
		p.drop(a.Conn, reasons[a.Why])
	}
}

// dial starts to connect. It keeps an error for connect, which returns it from the call that needed the connection.
func (p *Peer) dial() {
	s := p.set
	p.Conn.RestartHandshake(int64(mono.Now()))
	l, err := s.cfg.Below.Dial(p.Info(), p.addr, p.Conn, func() {
		var b [dataMax]byte
		p.Conn.Start(s.cfg.Negotiator.Ask(p, b[:0]))
	})
	if err != nil {
		s.dialErr = err
		p.Conn.Fail(err)
		return
	}
	p.Stream = l
	s.measure(l)
}

// accept executes cm.Accept: the peer's request becomes the main connection.
func (p *Peer) accept() {
	c, s := p.Conn, p.set
	p.fi = p.AV().ReverseAddrPort(p.addr)
	c.Src = uint64(p.fi)
	data := p.request
	p.request = nil
	s.attach(c, p.sink())
	var b [dataMax]byte
	c.Accept(s.cfg.Negotiator.Take(p, c, data, b[:0]))
	s.t.add(p)
}

// refuse executes cm.Refuse. The rejection leaves as far as the transport has room at once.
func (p *Peer) refuse(crossed bool) {
	var b [dataMax]byte
	p.finish(func() { p.Conn.Reject(p.set.cfg.Negotiator.Refuse(p.request, crossed, b[:0])) })
	p.Conn.Drop(engine.ErrClosed) // frees what the transport had no room for
}

// adopt moves the operations that wait on the connection before to c, which is p's. Unexpected messages of a
// connection that was up stay with it, because the peer was restarted.
func (p *Peer) adopt(c, before *cm.Conn) {
	q := before.User.(*Peer)
	to, _ := p.of(c)
	from, _ := q.of(before)
	if from.State() < engine.Connected || p == q {
		to.AdoptMessages(from)
	}
	to.Adopt(from)
}

// leave sends bye on p's connection, or ends our stream to a native peer. Later posts go to next.
func (p *Peer) leave(next *cm.Conn) {
	c, l := p.Conn, p.Stream
	if c.Ours {
		c.SayBye()
	}
	p.old = &leaving{p.c, c, l, p.User}
	p.renew(mono.Now())
	p.c, p.Stream, p.User = next, nil, nil
	switch {
	case l == nil: // it has failed just now
	case c.Ours:
		l.Replied()
	default:
		l.End()
	}
}

// returnToLeft returns to the connection that was left.
func (p *Peer) returnToLeft() {
	o, c := p.old, p.Conn
	p.old, p.c, p.Conn, p.Stream, p.User = nil, o.c, o.conn, o.stream, o.user
	p.set.ep.Own.SetSource(p.Conn, uint64(p.fi))
	p.Conn.Adopt(c)
	// If the peer has closed the connection after its stay, operations posted in the meantime fail.
	c.Drop(engine.ErrPeerClose)
	if p.Stream != nil {
		p.Stream.Replied()
	}
}

// finish calls say to queue the last message, transmits the rest and closes the transport. The transport may have
// failed already.
func (p *Peer) finish(say func()) {
	l := p.Stream
	p.Stream = nil
	if say(); l != nil {
		l.Finish()
	}
}

// drop ends the connection c of cm without a message to the peer. Its operations fail with err.
func (p *Peer) drop(c *cm.Conn, err error) {
	if o := p.old; o != nil && o.c == c {
		p.old = nil
		o.conn.Drop(err)
		if o.stream != nil {
			o.stream.Close()
		}
		return
	}
	p.set.t.remove(p)
	p.Conn.Drop(err)
	p.close()
}

// probe implements cm.Probe.
type probe Set

// Idle implements cm.Probe.
func (s *probe) Idle(c *cm.Conn) bool {
	n, l := connOf(c)
	return n.State() == engine.Connected && l != nil && n.Idle() && l.AtRest()
}

// Broken implements cm.Probe.
func (s *probe) Broken(c *cm.Conn) bool {
	n, _ := connOf(c)
	return n.State() != engine.Connected
}

// Wanted implements cm.Probe.
func (s *probe) Wanted(c *cm.Conn) bool {
	n, _ := connOf(c)
	return !n.Idle()
}

// Moved implements cm.Probe.
func (s *probe) Moved(c *cm.Conn) uint64 {
	n, _ := connOf(c)
	if n == nil {
		return 0
	}
	return n.MsgsIn + n.MsgsOut + n.BytesIn + n.BytesOut
}
