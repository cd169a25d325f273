package tcp

import (
	"bytes"
	"cmp"
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/provider/tcp/engine"
	"gofabric/provider/tcp/wire"
)

// peer is a connection of an RDM endpoint to another. It is its connection's engine.Sink, the endpoint being the Sink of completions.
type peer struct {
	*endpoint // Completed, Replied
	ep        *rdmEndpoint
	st        *stream
	addr      netip.AddrPort // where the peer listens; invalid until its request came
	fi        core.FIAddr    // its index in the address vector, AddrNotAvail if not inserted
	id        uint32         // its incarnation, 0 not known yet
	role      loopRole
	giveUp    mono.Time // when to stop trying to connect
	tries     int
	waiting   bool      // refused in favour of the peer's own connect, or to be tried again: no socket now
	since     mono.Time // when the connection came up
}

// loopRole tells the two connections of an endpoint with itself apart.
type loopRole uint8

const (
	loopNone loopRole = iota
	loopTx            // carries what we send ourselves
	loopRx            // brings it
)

// route implements router.
func (ep *rdmEndpoint) route(dest core.FIAddr) (*stream, error) {
	if uint64(dest) < uint64(len(ep.peers.byFI)) {
		if p := ep.peers.byFI[dest]; p != nil {
			return p.st, nil
		}
	}
	return ep.connect(dest)
}

// connect finds or opens the connection to a peer not spoken to by this index before.
func (ep *rdmEndpoint) connect(dest core.FIAddr) (*stream, error) {
	a, err := ep.av.Lookup(dest)
	if err != nil || !a.IP.IsValid() {
		return nil, core.ErrInval
	}
	if p := ep.peers.byAddr[a.IP]; p != nil {
		p.setSource(dest)
		return p.st, nil
	}
	if _, hidden := ep.peers.hidden[a.IP]; hidden {
		return nil, core.ErrFirewallAddr // it said that it cannot be connected to: wait until it connects
	}
	p := &peer{endpoint: &ep.endpoint, ep: ep, addr: a.IP, fi: dest}
	p.giveUp = mono.Now().Add(ep.d.s.connectTimeout)
	p.st = &stream{fd: netx.NoFD, prog: ep.prog, bufs: ep.d.bufs, peer: a.IP, local: ep.l.local}
	p.renew(mono.Now())
	ep.peers.add(p)
	if err := p.dial(); err != nil {
		p.st.conn.Drop(err)
		ep.peers.remove(p)
		no := errnoOf(err)
		if no == core.ErrAgain {
			no = core.ErrAddrNotAvail // out of local ports; EAGAIN would be tried for ever
		}
		return nil, no
	}
	return p.st, nil
}

// renew gives p a fresh connection in state Opening, which takes over what waits for the one before.
func (p *peer) renew(now mono.Time) {
	old := p.st.conn
	c := engine.NewActive(&p.ep.d.pool, p.ep.cfg, p.ep.own, p.ep.d, p, int64(now))
	c.User, c.Src = p, uint64(p.fi)
	p.st.conn = c
	p.st.open = p.request
	p.id = 0
	if old != nil {
		c.Adopt(old)
	}
}

// dial opens a socket towards the peer.
func (p *peer) dial() error {
	p.waiting = false
	p.tries++
	return p.st.dial(p.ep.d, p.ep.info.SrcAddr, p.ep.info.Tx.TClass)
}

// request sends our side of the RDM handshake.
func (p *peer) request() {
	var b [wire.RDMBlobLen]byte
	p.st.conn.Start(p.ep.blob(wire.RDMVersion).Append(b[:0]))
}

// Disconnect breaks off the connection to a peer: what is under way with it fails with ErrCanceled, and the next operation connects anew. libfabric has no
// such call; a caller that must take its buffers back at once finds it by a type assertion.
func (ep *rdmEndpoint) Disconnect(fi core.FIAddr) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if uint64(fi) >= uint64(len(ep.peers.byFI)) || ep.peers.byFI[fi] == nil {
		return core.ErrNotConn
	}
	p := ep.peers.byFI[fi]
	ep.peers.remove(p)
	p.waiting = false
	p.st.conn.Drop(engine.ErrClosed)
	p.st.close()
	return nil
}

func (ep *rdmEndpoint) blob(version uint8) wire.RDMBlob {
	r := wire.RDMBlob{Version: version, Port: ep.l.local.Port(), PID: ep.id}
	if ep.d.s.firewall {
		r.Features |= wire.FeatureFirewall
	}
	return r
}

// setSource gives p the index that the address vector has for it.
func (p *peer) setSource(fi core.FIAddr) {
	if p.fi == fi {
		return
	}
	p.fi = fi
	p.st.conn.Src = uint64(fi)
	p.ep.own.SetSource(p.st.conn, uint64(fi))
	p.ep.peers.index(p)
}

// watch follows the address vector: a peer that connected before it was inserted gets its index then.
func (ep *rdmEndpoint) watch(av *addressVector) (stop func()) {
	ins := av.OnInsert(func(fi core.FIAddr, a core.Addr) {
		ep.prog.Lock()
		defer ep.prog.Unlock()
		for _, p := range ep.peers.at(a.IP) {
			if p != nil && p.fi == core.AddrNotAvail {
				p.setSource(fi)
			}
		}
	})
	rem := av.OnRemove(func(fi core.FIAddr) {
		ep.prog.Lock()
		defer ep.prog.Unlock()
		for _, p := range ep.peers.of(fi) {
			if p != nil && p.fi == fi { // else inserted twice, and known by the other index
				p.fi = core.AddrNotAvail
				p.st.conn.Src = engine.AnySource
			}
		}
		if uint64(fi) < uint64(len(ep.peers.byFI)) {
			ep.peers.byFI[fi] = nil
		}
	})
	return func() { ins(); rem() }
}

// accepted takes a socket from the listener.
func (ep *rdmEndpoint) accepted(fd netx.FD, from netip.AddrPort) {
	if err := configure(fd, ep.d.s, dscp(ep.info.Tx.TClass), from.Addr()); err != nil {
		ep.l.refused++
		netx.Close(fd)
		return
	}
	p := &peer{endpoint: &ep.endpoint, ep: ep, fi: core.AddrNotAvail}
	p.st = &stream{fd: fd, peer: from, local: ep.l.local}
	p.st.conn = engine.NewPassive(&ep.d.pool, ep.cfg, p, int64(mono.Now()))
	p.st.conn.User = p
	if err := p.st.attach(ep.prog, ep.d.bufs, netx.In); err != nil {
		ep.l.refused++
		netx.Close(fd)
		return
	}
	ep.l.pending++
	ep.peers.all[p] = struct{}{}
}

// Requested implements engine.Sink: a peer wants to connect. The rules are native's (xnet_process_connreq), that two endpoints which connect to each other at
// the same moment agree on one connection.
func (p *peer) Requested(c *engine.Conn, data []byte) {
	ep := p.ep
	ep.l.pending--
	r, err := wire.ParseRDMBlob(data)
	if err != nil {
		p.refuse(nil)
		return
	}
	p.addr = netip.AddrPortFrom(p.st.peer.Addr().Unmap(), r.Port)
	old := ep.peers.byAddr[p.addr]
	if old != nil && !p.replaces(old, r) {
		p.refuse(data)
		return
	}
	if r.Features&wire.FeatureFirewall != 0 {
		ep.peers.hide(p.addr)
	}
	p.fi = ep.av.Reverse(core.IPAddr(p.addr))
	p.id = r.PID
	c.Src = uint64(p.fi)
	c.Attach(&ep.d.pool, ep.cfg, ep.own, ep.d, p)
	c.Rendezvous = r.Version >= 1
	answer := ep.blob(min(r.Version, wire.RDMVersion))
	answer.Port = r.Port // native echoes the request
	if answer.Version > 0 {
		answer.Version |= wire.RDMVersionFlag
	}
	var b [wire.RDMBlobLen]byte
	c.Accept(answer.Append(b[:0]))
	if old != nil && p.role == loopNone {
		c.Adopt(old.st.conn)
		old.replaced()
	}
	ep.peers.add(p)
}

// replaces decides what becomes of a request when there is a connection to that peer, or one under way.
func (p *peer) replaces(old *peer, r wire.RDMBlob) bool {
	ep := p.ep
	if old.st.conn.State() == engine.Connected && old.id != 0 && old.id == r.PID && p.addr != ep.l.local {
		old.st.receive() // a close that came before the request is seen before it
	}
	switch old.st.conn.State() {
	case engine.Opening, engine.Requesting:
		if old.waiting {
			return true // we have no request out: this is the one to take
		}
		switch compareAddr(p.addr, ep.l.local) {
		case -1:
			return false // the peer gives up for ours
		case 0:
			old.role, p.role = loopTx, loopRx
			return true
		}
		return true
	case engine.Connected, engine.Deciding:
		if old.role == loopTx && p.addr == ep.l.local {
			p.role = loopRx
			return true
		}
		if old.id == r.PID {
			// A request that crossed ours, usually, and the peer has given it up. But a peer that asks again and again has lost the connection
			// that we still believe in.
			return mono.Now().Sub(old.since) > crossing
		}
		return old.id != 0 // restarted: its old connection is dead
	}
	return true
}

// crossing is how long after a connection came up a request of the same peer can still have crossed it on its way.
const crossing = 3 * time.Second

// compareAddr orders addresses as native does (ofi_addr_cmp): family, address bytes, port.
func compareAddr(a, b netip.AddrPort) int {
	x, y := a.Addr().Unmap(), b.Addr().Unmap()
	if c := cmp.Compare(netx.Family(x), netx.Family(y)); c != 0 {
		return c
	}
	if c := bytes.Compare(x.AsSlice(), y.AsSlice()); c != 0 {
		return c
	}
	return cmp.Compare(a.Port(), b.Port())
}

// refuse turns a request down.
func (p *peer) refuse(data []byte) {
	p.ep.l.refused++
	p.st.conn.Reject(data)
	p.st.flushClosing()
	p.st.close()
	delete(p.ep.peers.all, p)
}

// replaced ends a connection in whose place another one stands.
func (p *peer) replaced() {
	p.waiting = false
	p.ep.peers.remove(p)
	p.st.conn.Drop(engine.ErrPeerClose)
	p.st.close()
}

// Connected implements engine.Sink.
func (p *peer) Connected(c *engine.Conn, data []byte) {
	p.since = mono.Now()
	if len(data) > 0 { // the answer to our request
		if r, err := wire.ParseRDMBlob(data); err == nil {
			p.id = r.PID
			c.Rendezvous = r.Version&wire.RDMVersionFlag != 0 && r.Version&^wire.RDMVersionFlag >= 1
		}
	}
}

// retryFirst and retryMax bound the pause before a refused connect is tried again.
const (
	retryFirst = 2e6   // ns
	retryMax   = 200e6 // ns
)

// Failed implements engine.Sink. A refusal usually means that the peer's own connect is under way: what waits for the connection goes on waiting
// for that, and after a pause we try again.
func (p *peer) Failed(c *engine.Conn, err error, _ []byte) {
	ep := p.ep
	if c != p.st.conn {
		return
	}
	if !p.addr.IsValid() {
		ep.l.pending--
		ep.l.refused++
	}
	p.st.close()
	now := mono.Now()
	if err == engine.ErrRefused && c.Waiting() && !ep.closed && now < p.giveUp {
		pause := int64(retryFirst) << min(p.tries, 7)
		p.renew(now)
		p.waiting = true
		p.waitUntil(now + mono.Time(min(pause, retryMax)))
		return
	}
	ep.peers.remove(p)
}

// waitUntil arms the pause before the next attempt. There is no socket meanwhile, so a timer of the endpoint's does it.
func (p *peer) waitUntil(at mono.Time) {
	p.ep.prog.After(at, func(now mono.Time) {
		if !p.waiting || p.ep.closed {
			return
		}
		if err := p.dial(); err != nil {
			p.st.conn.Fail(err)
		}
	})
}

// Resumed implements engine.Sink.
func (p *peer) Resumed(*engine.Conn) { p.st.setWant() }
