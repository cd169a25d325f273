package endpoint

import (
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// contextRouter is the way of operations that need more than a connection to a destination: those at a named receive context of the peer, those of a transmit context
// of a scalable endpoint, those that count against a shared transmit context, and those that must not overtake reads. Others do not come this way, and pay
// nothing for it.
type contextRouter struct {
	Router
	e    *Endpoint // who posts, and who is told of the ends
	bits int       // of a destination that name the context
	last *engine.Send
	wary uint16 // kinds of operations that must not overtake reads
	own  bool   // the connections belong to another endpoint: ends are told through the operations' owner
}

// routeContexts sends the endpoint's operations the long way if need be, now that all is bound. Locked.
func (e *Endpoint) routeContexts() {
	if e.tx == nil || e.scalable {
		return
	}
	bits := 0
	if e.av != nil && e.info.Caps&core.CapNamedRxCtx != 0 {
		bits = e.av.RxCtxBits()
	}
	wary := behindReads(e.info)
	if bits > 0 || wary != 0 || e.stx != nil {
		e.tx.r = &contextRouter{Router: e.tx.r, e: e, bits: bits, wary: wary, own: e.stx != nil}
	}
}

// Route implements Router.
func (s *contextRouter) Route(dest core.FIAddr) (*engine.Conn, error) {
	return s.routeFor(dest, &s.e.d.send)
}

// routeWork is route for an operation that is not the domain's scratch.
func routeWork(r Router, e *Endpoint, dest core.FIAddr, o *engine.Send) (*engine.Conn, error) {
	if s, ok := r.(*contextRouter); ok {
		return s.routeFor(dest, o)
	}
	return route(r, e, dest, o)
}

// route is Route of r for o, the domain's scratch, of e.
func route(r Router, e *Endpoint, dest core.FIAddr, o *engine.Send) (*engine.Conn, error) {
	c, err := r.Route(dest)
	if err != nil || !e.spreads(o) {
		return c, err
	}
	if _, done := r.(*contextRouter); done {
		return c, nil
	}
	return e.spread.Spread(c), nil
}

// routeFor is Route for o, which it completes.
func (s *contextRouter) routeFor(dest core.FIAddr, o *engine.Send) (*engine.Conn, error) {
	if stx := s.e.stx; stx != nil && stx.full() {
		s.e.prog.Pass() // an application that only retries must get somewhere
		return nil, core.ErrAgain
	}
	c, err := route(s.Router, s.e, dest<<s.bits>>s.bits, o)
	if err != nil {
		return nil, err
	}
	if s.own && o.Owner == nil {
		o.Owner = s
	}
	if s.bits > 0 && !c.SelectContext(uint8(dest>>(64-s.bits))) {
		o.Ack = true // see Aim
	}
	if s.wary>>o.Kind&1 != 0 && !o.Fence && c.Reading() {
		o.Fence, o.Reads = true, true
	}
	s.last = o
	return c, nil
}

// Posted implements Router.
func (s *contextRouter) Posted(c *engine.Conn, more bool) *batch.Stream {
	if s.e.stx != nil && s.last.Owner == engine.Owner(s) {
		s.e.stx.used++ // what has ended already was counted down
	}
	b := s.Router.Posted(c, more)
	if s.bits > 0 {
		return nil // a message that joins does not say which context it is for
	}
	return b
}

// Done implements engine.Owner.
func (s *contextRouter) Done(c *engine.Completion) {
	if s.e.stx != nil {
		s.e.stx.used--
	}
	if !s.e.closed {
		c.Owner = nil
		s.e.Completed(c)
	}
}
