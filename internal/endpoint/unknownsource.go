package endpoint

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// UnknownSource is the sink of a connection whose peer may be unknown to the address vector, of an endpoint that wants to hear of it (FI_SOURCE_ERR, fi_cq(3)):
// what the peer sends while it is unknown is received, and reported as an error, ErrAddrNotAvail, with the peer's address. All else goes to Sink.
type UnknownSource struct {
	engine.Sink
	E    *Endpoint
	Addr *netip.AddrPort  // of the peer; locked
	over []*UnknownSource // of contexts that are told in the place of Sink
}

var _ engine.SinkWrapper = (*UnknownSource)(nil)

// Wrap implements engine.SinkWrapper: s, who collects the receives of a context of its own, hears of strangers, too.
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
		s.over = nil // some were of contexts that were closed since
	}
	o := &UnknownSource{Sink: down, E: e, Addr: s.Addr}
	s.over = append(s.over, o)
	return o
}

// NamesUnknownSources says whether connections of the endpoint need a UnknownSource.
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

// unknownSource reports what came from a peer at addr that is not in the vector.
func (e *Endpoint) unknownSource(c *engine.Completion, addr netip.AddrPort) {
	if cn := e.cntr[kindCounter[c.Kind]]; cn != nil {
		cn.Complete(int(c.Len)) // nothing failed
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
	ee.Detail = "received; the sender is not in the address vector: insert the address that comes with this"
	e.rxCQ.PushErr(ee)
	ee.Buf = nil
}
