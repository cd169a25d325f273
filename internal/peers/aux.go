package peers

import (
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/peers/cm"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// AuxConn is an auxiliary connection to a peer. It is the engine.Sink of its Conn, and the embedded endpoint takes
// the completions. Until it is up, its operations use the main connection.
type AuxConn struct {
	*endpoint.Endpoint // Completed, Sent, Received
	// Conn takes the operations when the connection is up. Its User is the AuxConn.
	Conn *engine.Conn
	// Stream carries the Conn's bytes. It is nil after the connection has ended.
	Stream stream.Conn
	// User is for the provider.
	User any

	p  *Peer
	c  *cm.Conn
	up bool
}

// auxConns are the auxiliary connections to one peer.
type auxConns struct {
	all  []*AuxConn // by number less 1; nil where there is none
	last int        // index of the last Pick
}

// auxTable returns p's table of auxiliary connections, a new one if there is none. Most peers need none.
func (p *Peer) auxTable() *auxConns {
	if p.aux == nil {
		p.aux = &auxConns{all: make([]*AuxConn, p.set.cfg.Aux)}
	}
	return p.aux
}

// each visits all auxiliary connections, also those that are opening. x may be nil.
func (x *auxConns) each(yield func(*AuxConn) bool) {
	if x == nil {
		return
	}
	for _, l := range x.all {
		if l != nil && !yield(l) {
			return
		}
	}
}

// Peer returns the peer of the connection. Index returns its number, from 1.
func (l *AuxConn) Peer() *Peer  { return l.p }
func (l *AuxConn) Index() uint8 { return l.c.Index() }

// Pick returns the connection for the next operation that may overtake: an auxiliary connection that is up, or nil
// for the main one. It takes them in turn, and starts to open a missing one.
func (p *Peer) Pick() *AuxConn {
	s := p.set
	n := s.cfg.Aux
	if n == 0 || p.old != nil || p.Conn.State() != engine.Connected || p.c.Loop() != 0 {
		return nil
	}
	x := p.auxTable()
	x.last = (x.last + 1) % n
	switch l := x.all[x.last]; {
	case l != nil && l.up:
		return l
	case l == nil && !p.c.AuxRefused(uint8(x.last+1)):
		s.m.WantAux(p.c, uint8(x.last+1), mono.Now())
		s.run()
	}
	return nil
}

// Spread implements endpoint.Spreader.
func (s *Set) Spread(c *engine.Conn) *engine.Conn {
	p, ok := c.User.(*Peer)
	if !ok || p.User != nil { // a gateway is in between, and calls Pick itself
		return c
	}
	if l := p.Pick(); l != nil {
		return l.Conn
	}
	return c
}

// newAux makes the auxiliary connection for c of package cm.
func (p *Peer) newAux(c *cm.Conn) *AuxConn {
	l := &AuxConn{Endpoint: p.Endpoint, p: p, c: c}
	c.User = l
	p.auxTable().all[c.Index()-1] = l
	return l
}

// dialAux executes cm.Dial for an auxiliary connection. An error fails only this connection.
func (p *Peer) dialAux(c *cm.Conn) {
	cfg := &p.set.cfg
	l := p.newAux(c)
	l.Conn = p.set.active(l, p.fi, p.SinkOver(l), mono.Now())
	below, err := cfg.Below.Dial(p.Info(), p.addr, l.Conn, func() {
		var b [dataMax]byte
		l.Conn.Start(cfg.AuxNegotiator.AskAux(l, b[:0]))
	})
	if err != nil {
		l.Conn.Fail(err)
		return
	}
	l.Stream = below
	p.set.measure(below)
}

// acceptAux accepts the request of q as an auxiliary connection.
func (q *Peer) acceptAux(c *cm.Conn) {
	p := c.Main().User.(*Peer)
	l := p.newAux(c)
	l.Conn, l.Stream = q.Conn, q.Stream
	l.Conn.User, l.Conn.Src = l, uint64(p.fi)
	p.set.attach(l.Conn, p.SinkOver(l))
	var b [dataMax]byte
	l.Conn.Accept(p.set.cfg.AuxNegotiator.TakeAux(l, b[:0]))
}

func (l *AuxConn) execute(a cm.Action) {
	switch a.Kind {
	case cm.Stay:
		l.Conn.SayStay()
	case cm.Drain:
		l.forget()
		l.Stream.End()
	case cm.Drop:
		l.forget()
		l.Conn.Drop(reasons[a.Why])
		l.closeLink()
	}
}

// forget removes l from its peer.
func (l *AuxConn) forget() {
	l.up = false
	if at := &l.p.aux.all[l.c.Index()-1]; *at == l {
		*at = nil
	}
}

func (l *AuxConn) closeLink() {
	if k := l.Stream; k != nil {
		l.Stream = nil
		k.Close()
	}
}

// Requested implements engine.Sink. It is never called.
func (l *AuxConn) Requested(*engine.Conn, []byte) {}

// Connected implements engine.Sink.
func (l *AuxConn) Connected(_ *engine.Conn, data []byte) {
	s := l.p.set
	if !s.cfg.AuxNegotiator.AuxUp(l, len(data) > 0) {
		l.Conn.Fail(engine.ErrProtocol)
		return
	}
	l.up = true
	s.m.Connected(l.c, 0, l.Conn.Ours, mono.Now())
	s.run()
}

// Failed implements engine.Sink.
func (l *AuxConn) Failed(*engine.Conn, error, []byte) {
	l.forget()
	l.closeLink()
	l.p.set.m.Failed(l.c, false, mono.Now())
	l.p.set.run()
}

// Replied and Resumed implement engine.Sink.
func (l *AuxConn) Replied(*engine.Conn) {
	if l.Stream != nil {
		l.Stream.Replied()
	}
}

func (l *AuxConn) Resumed(*engine.Conn) {
	if l.Stream != nil {
		l.Stream.Resumed()
	}
}
