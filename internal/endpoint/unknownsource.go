package endpoint

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// UnknownSource is the sink of a connection whose peer may be missing in the address vector, for an endpoint with
// FI_SOURCE_ERR (fi_cq(3)). A message of such a peer is received and becomes an error entry, ErrAddrNotAvail, with
// the peer's address. All other completions go to Sink.
type UnknownSource struct {
	engine.Sink
	E    *Endpoint
	Addr *netip.AddrPort  // the peer's; guarded by the lock
	over []*UnknownSource // one for each receive context with queues of its own
}

var _ engine.SinkWrapper = (*UnknownSource)(nil)

// Wrap implements engine.SinkWrapper. It returns an UnknownSource for a receive context that has queues of its own.
func (s *UnknownSource) Wrap(to engine.CompletionSink) engine.CompletionSink {
	for _, o := range s.over {
		if o.Sink == to {
			return o
		}
	}
	var e *Endpoint
	var down engine.Sink
	switch to := to.(type) {
	case *SharedRx:
		e, down = to.own, to
	case RxSink:
		e, down = to.Endpoint, to
	}
	if e == nil {
		return to
	}
	if len(s.over) == MaxContexts {
		s.over = nil // some belonged to contexts that have closed since
	}
	o := &UnknownSource{Sink: down, E: e, Addr: s.Addr}
	s.over = append(s.over, o)
	return o
}

// NamesUnknownSources reports whether the endpoint's connections need an UnknownSource.
func (e *Endpoint) NamesUnknownSources() bool {
	const both = core.CapSource | core.CapSourceErr
	return e.info.Caps&both == both
}

// Received implements engine.Sink.
func (s *UnknownSource) Received(r *engine.RxOp) {
	if r.Source() != engine.AnySource || r.Owner != nil {
		s.Sink.Received(r)
		return
	}
	c := r.Completion()
	s.E.unknownSource(&c, *s.Addr)
}

// Completed implements engine.Sink.
func (s *UnknownSource) Completed(c *engine.Completion) {
	arrived := c.Kind == engine.KindRecv && !c.Peek || c.Kind == engine.KindRemoteWrite && c.HasData
	if !arrived || c.Src != engine.AnySource || c.Err != nil || c.Owner != nil {
		s.Sink.Completed(c)
		return
	}
	s.E.unknownSource(c, *s.Addr)
}

// unknownSource reports a message of a peer at addr that is not in the vector.
func (e *Endpoint) unknownSource(c *engine.Completion, addr netip.AddrPort) {
	if cn := e.cntr[kindCounter[c.Kind]]; cn != nil {
		cn.Complete(int(c.Len)) // the receive itself succeeded
	}
	if c.Silent && !c.Release || e.closed || e.rxCQ == nil {
		return
	}
	ee := &e.errEntry
	*ee = core.CQErrEntry{Err: core.ErrAddrNotAvail, ProvErrno: int(core.ErrAddrNotAvail), SrcAddr: e.keyHandle(), Peer: core.IPAddr(addr)}
	ee.Ctx, ee.Flags, ee.Len, ee.Buf, ee.Data, ee.Tag = core.OpContext(c.Ctx), core.CompFlags(c.Flags), int(c.Len), c.Buf, c.Data, c.Tag
	if c.Kind == engine.KindRemoteWrite {
		ee.Flags = core.CompRMA | core.CompRemoteWrite
		if c.Atomic {
			ee.Flags = core.CompAtomic | core.CompRemoteWrite
		}
	}
	if c.HasData {
		ee.Flags |= core.CompRemoteCQData
	}
	if c.Release {
		ee.Flags |= core.CompMultiRecv
	}
	ee.Detail = "a message was received from a sender that is not in the address vector: insert the address in this entry"
	e.rxCQ.PushErr(ee)
	ee.Buf = nil
}
