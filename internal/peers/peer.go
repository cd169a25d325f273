package peers

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/conduit"
	"gofabric/internal/front"
	"gofabric/internal/mono"
	"gofabric/internal/xnet/engine"
)

// Peer is a connection of the endpoint to another. It is its connection's engine.Sink, the endpoint being the Sink of completions.
type Peer struct {
	*front.Endpoint // Completed, Sent, Received, Replied
	// Conn is what operations are posted to. Its User is the Peer.
	Conn *engine.Conn
	// Link carries it; nil before the first connect and between attempts.
	Link conduit.Link
	// User is the endpoint's.
	User any

	set     *Set
	addr    netip.AddrPort // where the peer listens; invalid until its request came
	fi      core.FIAddr    // its index in the address vector, AddrNotAvail if not inserted
	named   bool           // it had another index, too, which may find it still
	id      uint32         // its incarnation, 0 not known yet
	role    loopRole
	giveUp  mono.Time // when to stop trying to connect
	tries   int
	waiting bool      // refused in favour of the peer's own connect, or to be tried again: no link now
	since   mono.Time // when the connection came up
	crossed bool      // a request of ours was given up for this connection
	old     *leaving  // the connection before, which is being closed; nil usually
	used    mono.Time // when something was last seen to have happened
	moved   uint64    // what had happened by then
	lanes   *lanes    // further connections; nil usually
}

// loopRole tells the two connections of an endpoint with itself apart.
type loopRole uint8

const (
	loopNone loopRole = iota
	loopTx            // carries what we send ourselves
	loopRx            // brings it
)

// Addr is where the peer listens.
func (p *Peer) Addr() netip.AddrPort { return p.addr }

// SetID takes note of the peer's incarnation, from its answer.
func (p *Peer) SetID(id uint32) { p.id = id }

// renew gives p a fresh connection in state Opening, which takes over what waits for the one before.
func (p *Peer) renew(now mono.Time) {
	old := p.Conn
	cfg := &p.set.cfg
	c := engine.NewActive(cfg.Pool, cfg.Conn, cfg.Rx, cfg.Memory, p.sink(), int64(now))
	c.User, c.Src = p, uint64(p.fi)
	p.Conn = c
	p.id = 0
	if old != nil {
		c.Adopt(old)
		c.AdoptMessages(old)
	}
}

// sink is what takes the peer's completions: p, or what tells of peers that are not in the vector.
func (p *Peer) sink() engine.Sink {
	if p.NamesStrangers() {
		return &front.Stranger{Sink: p, E: p.Endpoint, Addr: &p.addr}
	}
	return p
}

// SinkOver is s, a sink of p's making, for a Conn of p: with FI_SOURCE_ERR it names who is not in the address vector.
func (p *Peer) SinkOver(s engine.Sink) engine.Sink {
	if p.NamesStrangers() {
		return &front.Stranger{Sink: s, E: p.Endpoint, Addr: &p.addr}
	}
	return s
}

// dial starts to connect.
func (p *Peer) dial() error {
	p.waiting = false
	p.tries++
	p.Conn.RestartHandshake(int64(mono.Now()))
	l, err := p.set.cfg.Below.Dial(p.Info(), p.addr, p.Conn, p.ask)
	if err != nil {
		return err
	}
	p.Link = l
	p.set.measure(l)
	return nil
}

// ask sends our request.
func (p *Peer) ask() {
	var b [dataMax]byte
	p.Conn.Start(p.set.cfg.Manners.Ask(p, b[:0]))
}

// dataMax is the longest private data that we send, bytes.
const dataMax = 64

// setSource gives p the index that the address vector has for it.
func (p *Peer) setSource(fi core.FIAddr) {
	if p.fi == fi {
		return
	}
	p.named = p.named || p.fi != core.AddrNotAvail
	p.fi = fi
	p.Conn.Src = uint64(fi)
	p.set.cfg.Rx.SetSource(p.Conn, uint64(fi))
	for l := range p.lanes.each {
		p.set.cfg.Rx.SetSource(l.Conn, uint64(fi))
	}
	p.set.t.index(p)
}

// rename is called when the index was removed that p went by. The address may have another already: who shares the vector has inserted it again, and the
// order in which other processes' changes are heard of is not the one in which they were made.
func (p *Peer) rename() {
	fi := p.AV().ReverseAddrPort(p.addr)
	if fi == p.fi {
		return
	}
	p.fi, p.Conn.Src = core.AddrNotAvail, engine.AnySource
	for l := range p.lanes.each {
		l.Conn.Src = engine.AnySource
	}
	if fi != core.AddrNotAvail {
		p.setSource(fi)
	}
}

// close ends the transport.
func (p *Peer) close() {
	if l := p.Link; l != nil {
		p.Link = nil
		l.Close()
	}
}

// drop ends p, which is out of the tables, without a word to anybody but those whose operations fail.
func (p *Peer) drop(err error) {
	p.waiting = false
	p.dropOld(err)
	p.endLanes(err)
	p.Conn.Drop(err)
	p.close()
}

// Connected implements engine.Sink.
func (p *Peer) Connected(c *engine.Conn, data []byte) {
	p.since = mono.Now()
	p.used = p.since
	p.set.cfg.Manners.Up(p, c, data)
}

// retryFirst and retryMax bound the pause before a refused connect is tried again.
const (
	retryFirst = 2e6   // ns
	retryMax   = 200e6 // ns
)

// Failed implements engine.Sink. A refusal usually means that the peer's own connect is under way: what waits for the connection goes on waiting
// for that, and after a pause we try again.
func (p *Peer) Failed(c *engine.Conn, err error, data []byte) {
	if o := p.old; o != nil && c == o.conn {
		p.part()
		return
	}
	if c != p.Conn {
		return
	}
	s := p.set
	p.close()
	p.failLanes(err)
	now := mono.Now()
	if err == engine.ErrRefused && (c.Waiting() || c.Expecting()) && !p.Closed() && now < p.giveUp && s.cfg.Manners.Refused(data) {
		pause := int64(retryFirst) << min(p.tries, 7)
		p.renew(now)
		p.waiting = true
		p.waitUntil(now + mono.Time(min(pause, retryMax)))
		return
	}
	s.t.remove(p)
}

// waitUntil arms the pause before the next attempt. There is no link meanwhile, so a timer of the endpoint's does it.
func (p *Peer) waitUntil(at mono.Time) {
	p.set.cfg.Below.Progress().After(at, func(now mono.Time) {
		if !p.waiting || p.old != nil || p.Closed() {
			return
		}
		if err := p.dial(); err != nil {
			p.Conn.Fail(err)
		}
	})
}

// Replied implements engine.Sink.
func (p *Peer) Replied(c *engine.Conn) {
	if o := p.old; o != nil && c == o.conn {
		o.link.Replied()
	} else if l := p.Link; l != nil && c == p.Conn {
		l.Replied()
	}
}

// Resumed implements engine.Sink.
func (p *Peer) Resumed(c *engine.Conn) {
	if o := p.old; o != nil && c == o.conn {
		o.link.Resumed()
	} else if l := p.Link; l != nil {
		l.Resumed()
	}
}
