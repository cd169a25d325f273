package session

import (
	"net/netip"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

// rtsIntervalMin is the first interval between RTS, in nanoseconds. It is doubled each time, up to
// flow.MaxProbeInterval. Native begins with 1 ms.
const rtsIntervalMin = int64(2e6)

// The handshake is native's: RTS, answered by CTS, each with an index that the other end then puts into its
// packets. Extension blocks behind them show that both ends are gofabric, and carry the cookie. docs/wire/rxd.md,
// "Handshake" and "Handshake of the extension".
//
// handshake is the state of a peer until both ends know that the other has the connection.
type handshake struct {
	nonce       uint64   // of our RTS; the CTS echoes it
	cookie      uint64   // of the peer, returned in our RTS; 0: none yet
	due         int64    // when to repeat RTS
	interval    int64    // of repetitions, nanoseconds
	maxInterval int64    // nanoseconds
	deadline    int64    // when to give up
	answerer    identity // with an authorization key: the numbers that the peer has drawn
	sendDue     bool     // RTS is to be transmitted now

	// A native peer has sent RTS in the meantime. Whether it was the peer or a forger shows when it answers our
	// RTS, or uses the index that we gave it.
	hasRemote bool
	remote    uint32
}

// startHandshake begins the handshake with p. Its first RTS leaves with the next Poll.
func (e *Engine) startHandshake(p *Peer, now int64) {
	e.serial++
	p.local = e.random()
	// Random, so that only a receiver of our RTS or CTS knows it; never 0, which native takes for none.
	p.index = uint32(e.random()>>32) | 1
	// Packets that the peer had under way carry its previous index. They are still accepted, but a new process must
	// be distinguished: it gets a new index.
	if m, ok := e.pastPeers[p.Addr]; ok {
		m.old.push(m.index)
		m.index = p.index
		e.pastPeers[p.Addr] = m
	}
	// The upper half of the nonce counts attempts, the lower half is random.
	p.hs = &handshake{nonce: e.serial<<32 | e.cfg.Rand()>>32, sendDue: true}
	p.hs.start(now, e.cfg.HandshakeTimeout)
	e.armDeadline(p, p.hs.due)
	e.enqueue(p)
}

// start begins the repetitions. They end after timeout nanoseconds.
func (h *handshake) start(now, timeout int64) {
	h.interval, h.due, h.deadline = rtsIntervalMin, now+rtsIntervalMin, now+timeout
	h.maxInterval = max(rtsIntervalMin, flow.MaxProbeInterval(timeout))
}

// random returns a random number that is not 0.
func (e *Engine) random() uint64 {
	for {
		if v := e.cfg.Rand(); v != 0 {
			return v
		}
	}
}

// advanceHandshake repeats the RTS, or gives the peer up.
func (e *Engine) advanceHandshake(p *Peer, now int64) {
	h := p.hs
	if now >= h.deadline {
		p.fail(xengine.ErrTimeout)
		return
	}
	h.sendDue = true
	h.interval = min(h.interval*2, h.maxInterval)
	h.due = min(now+h.interval, h.deadline)
}

// pollRTS fills in the RTS, with the cookie if the peer has sent one. To a peer that is known to be native it has
// no block.
func (p *Peer) pollRTS(_ int64, out *Out) {
	e, h := p.e, p.hs
	h.sendDue = false
	r := wire.RTS{RTSAddr: uint64(p.index), Source: e.hooks.Local(p.Addr)}
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = r.Append(out.Head[:0])
	if e.cfg.Extensions && p.state != native {
		out.Head = e.rtsBlock(p).Append(out.Head)
	}
	out.Len = len(out.Head)
}

// block returns our extension block.
func (e *Engine) block(id, nonce, cookie uint64) wire.Ext {
	x := wire.Ext{
		ConnID: id, Epoch: e.cfg.Epoch, Cookie: cookie, Nonce: nonce,
		MaxDatagram: uint32(e.cfg.MaxDatagram), Window: uint32(e.cfg.RecvWindow),
		Features: wire.FeatureAtomics | wire.FeatureSeals | wire.FeatureVerdicts | wire.FeatureShow,
	}
	if e.cfg.Auth != nil {
		x.Features |= wire.FeatureAuth
	}
	return x
}

// receiveRTS answers the RTS of a peer. A damaged block must not make a gofabric peer a native one, hence Intact.
func (e *Engine) receiveRTS(now int64, from netip.AddrPort, pkt []byte) {
	var r wire.RTS
	trailing, err := r.Parse(pkt)
	if err != nil || !sourceIs(r.Source, from) {
		e.Stats.Malformed++
		return
	}
	if !wire.Intact(pkt, trailing) {
		e.Stats.BadChecksum++
		return
	}
	// A gofabric peer; otherwise a native one.
	if x, ok := wire.ParseExt(trailing); ok && e.cfg.Extensions {
		e.receiveRTSX(now, from, &r, &x)
		return
	}
	if e.cfg.Auth != nil {
		e.Stats.Denied++ // native peers have no keys
		return
	}
	e.receiveRTSNative(now, from, &r)
}

// sourceIs checks the address in an RTS against that of its datagram. The IP addresses may differ: the peer may
// have several, or be behind a NAT. The port must be equal: it distinguishes the endpoints of a host.
func sourceIs(source, from netip.AddrPort) bool {
	return source.Port() == from.Port()
}

// receiveCTS takes the answer to our RTS. Without a block its sender is a native peer.
func (e *Engine) receiveCTS(now int64, from netip.AddrPort, pkt []byte) {
	var c wire.CTS
	trailing, err := c.Parse(pkt)
	if err != nil {
		e.Stats.Malformed++
		return
	}
	if !wire.Intact(pkt, trailing) {
		e.Stats.BadChecksum++
		return
	}
	p := e.findPeer(from)
	if p == nil || c.RTSAddr != uint64(p.index) || p.hs == nil {
		if p == nil || p.state != native { // a native peer answers every repetition of RTS
			e.Stats.Unknown++
		}
		return
	}
	x, ok := wire.ParseExt(trailing)
	switch {
	// A native peer that was asked again (revalidate.go).
	case p.state == native:
		p.revalidateCTS(uint32(c.CTSAddr))
	case ok && e.cfg.Extensions:
		e.receiveCTSX(now, p, &c, &x)
	case p.state == requesting && e.cfg.Auth != nil:
		p.fail(xengine.ErrAuth) // native peers have no keys
	// No block: the peer is native.
	case p.state == requesting && uint32(c.CTSAddr) != 0:
		p.becomeNative(now, uint32(c.CTSAddr))
	default:
		e.Stats.Unknown++
	}
}
