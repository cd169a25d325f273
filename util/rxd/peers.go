// Peers by address-vector index, and the callbacks of the engine about them.

package rxd

import (
	"net/netip"
	"slices"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/transport/datagram"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/session"
)

// Route implements endpoint.Router. Locked.
func (ep *rdmEndpoint) Route(dest core.FIAddr) (*xengine.Conn, error) {
	if uint64(dest) < uint64(len(ep.byFI)) {
		if p := ep.byFI[dest]; p != nil {
			return p.Conn(), nil
		}
	}
	if ep.lost != nil {
		return nil, ep.lost
	}
	addr, ok := ep.AV().AddrPort(dest)
	if !ok {
		return nil, core.ErrInval
	}
	now := mono.Now()
	p := ep.eng.Peer(addr, uint64(dest), int64(now))
	ep.index(dest, p)
	ep.transmit(now) // a request to connect leaves even if the post is refused
	return p.Conn(), nil
}

// index stores the peer of an index in the vector.
func (ep *rdmEndpoint) index(fi core.FIAddr, p *session.Peer) {
	if n := uint64(fi) + 1; n > uint64(len(ep.byFI)) {
		ep.byFI = slices.Grow(ep.byFI, int(n)-len(ep.byFI))[:n]
	}
	ep.byFI[fi] = p
}

// forget removes a peer that has ended.
func (ep *rdmEndpoint) forget(p *session.Peer) {
	delete(ep.refusals, p)
	if fi := p.Conn().Src; fi < uint64(len(ep.byFI)) && ep.byFI[fi] == p {
		ep.byFI[fi] = nil
	}
}

// inserted informs the port of an address, and gives its index to a peer that sent first. Locked.
func (ep *rdmEndpoint) inserted(fi core.FIAddr, a core.Addr) {
	datagram.Expect(ep.port, a.IP)
	p := ep.eng.Lookup(a.IP)
	if p == nil || p.Conn().Src != xengine.AnySource {
		return
	}
	ep.eng.SetSource(p, uint64(fi))
	ep.Own.SetSource(p.Conn(), uint64(fi))
	ep.index(fi, p)
}

// removed ends inserted. The address may have another index already: a process that shares the vector may have
// inserted it again, and changes of other processes are not seen in the order in which they were made. Locked.
func (ep *rdmEndpoint) removed(fi core.FIAddr) {
	if uint64(fi) >= uint64(len(ep.byFI)) || ep.byFI[fi] == nil {
		return
	}
	p := ep.byFI[fi]
	ep.byFI[fi] = nil
	if p.Conn().Src != uint64(fi) {
		return // the peer has another index now
	}
	ep.eng.SetSource(p, xengine.AnySource)
	if now := ep.AV().ReverseAddrPort(p.Addr); now != core.AddrNotAvail {
		ep.inserted(now, core.IPAddr(p.Addr))
	}
}

// Disconnect aborts the operations with a peer. They fail with ErrCanceled, and the next operation connects to the
// peer again. libfabric has no such call. A caller that must take its buffers back at once reaches it by a type
// assertion.
func (ep *rdmEndpoint) Disconnect(fi core.FIAddr) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if uint64(fi) >= uint64(len(ep.byFI)) || ep.byFI[fi] == nil {
		return core.ErrNotConn
	}
	p := ep.byFI[fi]
	ep.byFI[fi] = nil
	ep.eng.Remove(p, xengine.ErrClosed)
	ep.transmit(mono.Now())
	return nil
}

// hooks gives the endpoint the methods that its engine calls.
type hooks rdmEndpoint

// Sink implements engine.Hooks. One sink serves all peers, unless the application wants the addresses of peers that
// are not in the vector (FI_SOURCE_ERR).
func (h *hooks) Sink(p *session.Peer) xengine.Sink {
	if h.NamesUnknownSources() {
		return &endpoint.UnknownSource{Sink: (*sink)(h), E: &h.Endpoint, Addr: &p.Addr}
	}
	return (*sink)(h)
}

// PeerUp implements engine.Hooks.
func (h *hooks) PeerUp(p *session.Peer) {
	if fi := p.Conn().Src; fi != xengine.AnySource {
		(*rdmEndpoint)(h).index(core.FIAddr(fi), p) // it sent first, and is in the vector
	}
}

// PeerFailed implements engine.Hooks.
func (h *hooks) PeerFailed(p *session.Peer, _ error) { (*rdmEndpoint)(h).forget(p) }

// Reverse implements engine.Hooks.
func (h *hooks) Reverse(addr netip.AddrPort) uint64 {
	if v := h.AV(); v != nil {
		return uint64(v.ReverseAddrPort(addr)) // AddrNotAvail is AnySource
	}
	return xengine.AnySource
}

// Local implements engine.Hooks: the address of this endpoint as dest sees it.
func (h *hooks) Local(dest netip.AddrPort) netip.AddrPort {
	local := h.port.Local()
	if !local.Addr().IsUnspecified() || h.d.p.host == nil {
		return local
	}
	if a, err := h.d.p.host.SourceFor(dest); err == nil {
		return netip.AddrPortFrom(a, local.Port())
	}
	return local
}

// Narrowed implements datagram.Narrower. Locked.
func (ep *rdmEndpoint) Narrowed(dest netip.AddrPort) { ep.eng.PathChanged(dest) }

// MaxDatagram implements engine.Hooks.
func (h *hooks) MaxDatagram(dest netip.AddrPort) int { return h.port.MaxDatagram(dest) }

// sink gives the endpoint the methods that the connections of its peers call.
type sink rdmEndpoint

func (s *sink) Completed(c *xengine.Completion) { s.Endpoint.Completed(c) }
func (s *sink) Sent(o *xengine.Send)            { s.Endpoint.Sent(o) }
func (s *sink) Received(r *xengine.RxOp)        { s.Endpoint.Received(r) }
func (s *sink) Requested(*xengine.Conn, []byte) {}
func (s *sink) Connected(*xengine.Conn, []byte) {}
func (s *sink) Failed(c *xengine.Conn, err error, _ []byte) {
	s.eng.Failed(c.User.(*session.Peer), err)
}
func (s *sink) Resumed(c *xengine.Conn) { s.eng.Resumed(c.User.(*session.Peer)) }

// Replied implements engine.Sink. Answers that result from a posted receive leave with the next pass.
func (s *sink) Replied(c *xengine.Conn) {
	s.eng.Posted(c.User.(*session.Peer))
	if !s.taking && !s.out.busy && !s.Closed() {
		s.batch.Answer(s.prog.Batch(), (*flusher)(s))
	}
}
