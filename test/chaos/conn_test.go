package chaos

import (
	"errors"
	"net/netip"
	"time"

	"gofabric/core"
)

// Connections of nodes over connected endpoints. Each node connects to every node, including itself, and sends over
// the connections that it has made. It receives from all through one shared context.

// idleTurns is how often a node that has seen the end of a connection must find nothing to receive before it closes
// its own end. Elapsed time proves nothing: the process may have been stopped, or the machine may not have run it.
const idleTurns = 50

type conn struct {
	ep    *core.Endpoint
	to    *peer // nil for a connection that was accepted
	up    bool
	since time.Time
	told  bool
	over  time.Time // when its end was seen; what was sent before is still to be received
	idled int       // the node's count at that time
}

// listen opens the passive endpoint and the objects that all connections share.
func (n *node) listen(info *core.Info) (err error) {
	if n.eq, err = n.fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}); err != nil {
		return err
	}
	if n.srx, err = n.domain.OpenSRX(nil); err != nil {
		return err
	}
	n.rx = n.srx
	if n.pep, err = n.fabric.OpenPassiveEndpoint(info); err != nil {
		return err
	}
	n.dialInfo = info
	return errors.Join(n.pep.BindEQ(n.eq, 0), n.pep.Listen())
}

// start opens an endpoint.
func (n *node) start(info *core.Info, to *peer) (*conn, error) {
	ep, err := n.domain.OpenEndpoint(info)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ep.BindCQ(n.cq, core.BindTransmit|core.BindRecv), ep.BindEQ(n.eq, 0),
		ep.BindSRX(n.srx), ep.Enable()); err != nil {
		return nil, errors.Join(err, ep.Close())
	}
	c := &conn{ep: ep, to: to, since: time.Now()}
	n.conns[ep] = c
	return c, nil
}

// tend makes the connections that are missing, and reads events.
func (n *node) tend(now time.Time) {
	for _, p := range n.peers {
		if p.out == nil && now.After(p.redial) && !n.draining {
			n.dial(p, now)
		}
	}
	for n.event() {
	}
	for _, c := range n.conns {
		if !c.over.IsZero() {
			if n.idled-c.idled > idleTurns && now.Sub(c.over) > 2*time.Second {
				n.hangUp(c)
			}
			continue
		}
		if took := now.Sub(c.since); !c.up && !c.told && took-n.stalled > bound {
			c.told = true
			n.fail(hung, "a connection (to %v) is neither established nor refused after %v", c.to != nil, took)
		}
	}
}

func (n *node) dial(p *peer, now time.Time) {
	p.redial = now.Add(n.pause(2 * sorryMax))
	info := n.dialInfo.Dup()
	a, err := core.ParseAddr("fi_sockaddr_in://" + n.Nodes[p.index])
	if err != nil {
		panic(err)
	}
	src := info.SrcAddr.IP
	info.SrcAddr = core.IPAddr(netip.AddrPortFrom(src.Addr(), 0))
	info.DestAddr = a
	c, err := n.start(info, p)
	if err == nil {
		if err = c.ep.Connect(a, nil); err != nil {
			n.hangUp(c)
		}
	}
	if err != nil {
		p.failed("connect: " + err.Error())
		return
	}
	p.out = c
}

// event reads an event, and reports whether there was one.
func (n *node) event() bool {
	var ev core.EQEvent
	err := n.eq.Read(&ev, 0)
	if errors.Is(err, core.ErrAvail) {
		var bad core.EQErrEntry
		if err := n.eq.ReadErr(&bad, 0); err != nil {
			n.fail(hung, "fi_eq_readerr: %v", err)
			return true
		}
		if c := n.conns[bad.Object]; c != nil {
			if c.to != nil {
				c.to.failed("connect: " + bad.Err.Error() + ": " + bad.Detail)
			}
			n.hangUp(c)
		}
		return true
	}
	if err != nil {
		return false
	}
	c := n.conns[ev.Object]
	switch {
	case ev.Type == core.EventConnReq:
		n.answer(ev.Info)
	case ev.Type == core.EventConnected && c != nil:
		c.up = true
	case ev.Type == core.EventShutdown && c != nil:
		c.up, c.over, c.idled = false, time.Now(), n.idled
		n.forget(c)
	}
	return true
}

// forget stops sending over c.
func (n *node) forget(c *conn) {
	if c.to != nil && c.to.out == c {
		c.to.out = nil
	}
}

// answer accepts a connection request. The peer may be gone already.
func (n *node) answer(info *core.Info) {
	c, err := n.start(info, nil)
	if err != nil {
		_ = n.pep.Reject(info.Handle, nil)
		return
	}
	if err := c.ep.Accept(nil); err != nil {
		n.hangUp(c)
	}
}

// hangUp closes a connection. Its pending operations end without completions.
func (n *node) hangUp(c *conn) {
	began := time.Now()
	err := c.ep.Close()
	if took := time.Since(began); took > closeBound {
		n.fail(hung, "closing a connection took %v", took)
	}
	if err != nil && !errors.Is(err, core.ErrTimedOut) {
		n.fail(hung, "closing a connection: %v", err)
	}
	n.dropped(c)
	delete(n.conns, c.ep)
	n.forget(c)
}

// shutdownOne shuts down in good order a connection that this node sends over.
func (n *node) shutdownOne() {
	p := n.peers[n.rng.IntN(len(n.peers))]
	if p.out == nil || !p.out.up {
		return
	}
	began := time.Now()
	err := p.out.ep.Shutdown()
	if took := time.Since(began); took > closeBound {
		n.fail(hung, "fi_shutdown took %v", took)
	}
	if err != nil && !errors.Is(err, core.ErrTimedOut) && !errors.Is(err, core.ErrNotConn) {
		n.fail(hung, "fi_shutdown: %v", err)
	}
	p.out.up = false
}
