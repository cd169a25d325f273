package endpoint

import (
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// contextRouter is the Router of operations that need more than a connection to a destination. These are operations
// to a named receive context of the peer, operations of a transmit context of a scalable endpoint, operations that
// count against a shared transmit context, and operations that must not overtake reads. All others use the
// provider's Router directly, so that they pay nothing for it.
type contextRouter struct {
	Router
	e          *Endpoint // the endpoint that posts, and that reports the completions
	bits       int       // number of high bits of a destination that name the receive context (fi_rx_addr, fi_av(3))
	last       *engine.Send
	afterReads uint16 // kinds of operations that must not overtake reads, as bits
	own        bool   // the connections belong to another endpoint, so each operation needs this router as its owner
}

// routeContexts inserts a contextRouter if the endpoint needs one. All objects are bound by now. Locked.
func (e *Endpoint) routeContexts() {
	if e.tx == nil || e.scalable {
		return
	}
	bits := 0
	if e.av != nil && e.info.Caps&core.CapNamedRxCtx != 0 {
		bits = e.av.RxCtxBits()
	}
	afterReads := behindReads(e.info)
	if bits > 0 || afterReads != 0 || e.stx != nil {
		e.tx.r = &contextRouter{Router: e.tx.r, e: e, bits: bits, afterReads: afterReads, own: e.stx != nil}
	}
}

// Route implements Router.
func (s *contextRouter) Route(dest core.FIAddr) (*engine.Conn, error) {
	return s.routeFor(dest, &s.e.d.send)
}

// routeWork is route for an operation in memory of its own, rather than in the domain's scratch operation.
func routeWork(r Router, e *Endpoint, dest core.FIAddr, o *engine.Send) (*engine.Conn, error) {
	if s, ok := r.(*contextRouter); ok {
		return s.routeFor(dest, o)
	}
	return route(r, e, dest, o)
}

// route finds the connection for o, the domain's scratch operation, of e.
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

// routeFor finds the connection for o and fills in its owner, fence and acknowledgement.
func (s *contextRouter) routeFor(dest core.FIAddr, o *engine.Send) (*engine.Conn, error) {
	if stx := s.e.stx; stx != nil && stx.full() {
		s.e.prog.Pass() // so that an application that only retries makes progress
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
		o.Ack = true // see Conn.SelectContext
	}
	if s.afterReads>>o.Kind&1 != 0 && !o.Fence && c.Reading() {
		o.Fence, o.Reads = true, true
	}
	s.last = o
	return c, nil
}

// Posted implements Router.
func (s *contextRouter) Posted(c *engine.Conn, more bool) *batch.Stream {
	if s.e.stx != nil && s.last.Owner == engine.Owner(s) {
		s.e.stx.used++ // Done has counted down an operation that has completed already
	}
	b := s.Router.Posted(c, more)
	if s.bits > 0 {
		return nil // a coalesced message carries no receive context
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
