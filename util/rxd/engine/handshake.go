package engine

import (
	"net/netip"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

// rtsFirst is the first interval between repetitions of RTS, nanoseconds; each is twice the one before, up to flow.Seldom.
const rtsFirst = int64(2e6)

// handshake is what a peer needs until both sides know that the other knows.
type handshake struct {
	nonce    uint64
	cookie   uint64 // of the peer, to be echoed; 0: none yet
	due      int64  // when to repeat
	interval int64
	longest  int64  // of intervals
	end      int64  // when to give up
	peer     chosen // with an authorization key: the peer's side of what is proved
	send     bool   // RTS is to be transmitted now

	// A native peer has sent RTS meanwhile. Whether it was the peer is known when it answers ours, or uses the index it was given.
	hasRemote bool
	remote    uint32
}

// request begins the handshake with p.
func (e *Engine) request(p *Peer, now int64) {
	e.serial++
	p.local = e.random()
	p.index = uint32(e.random()>>32) | 1
	if m, ok := e.memos[p.Addr]; ok { // what it had under way carries the index before, but what comes from a new life must not be taken for that
		m.old.push(m.index)
		m.index = p.index
		e.memos[p.Addr] = m
	}
	p.hs = &handshake{nonce: e.serial<<32 | e.cfg.Rand()>>32, send: true}
	p.hs.start(now, e.cfg.HandshakeTimeout)
	e.lookAt(p, p.hs.due)
	e.enqueue(p)
}

// start begins the repetitions, to end after timeout.
func (h *handshake) start(now, timeout int64) {
	h.interval, h.due, h.end = rtsFirst, now+rtsFirst, now+timeout
	h.longest = max(rtsFirst, flow.Seldom(timeout))
}

// random returns a number that is not 0.
func (e *Engine) random() uint64 {
	for {
		if v := e.cfg.Rand(); v != 0 {
			return v
		}
	}
}

// advanceHandshake repeats the RTS, or gives up.
func (e *Engine) advanceHandshake(p *Peer, now int64) {
	h := p.hs
	if now >= h.end {
		p.fail(xengine.ErrTimeout)
		return
	}
	h.send = true
	h.interval = min(h.interval*2, h.longest)
	h.due = min(now+h.interval, h.end)
}

// pollRTS transmits the RTS, with the cookie if the peer gave one.
func (p *Peer) pollRTS(_ int64, out *Out) {
	e, h := p.e, p.hs
	h.send = false
	r := wire.RTS{RTSAddr: uint64(p.index), Source: e.hooks.Local(p.Addr)}
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = r.Append(out.Head[:0])
	if e.cfg.Extensions && p.state != native {
		out.Head = e.askBlock(p).Append(out.Head)
	}
	out.Len = len(out.Head)
}

// block is our extension block.
func (e *Engine) block(id, nonce, cookie uint64) wire.Ext {
	x := wire.Ext{ConnID: id, Epoch: e.cfg.Epoch, Cookie: cookie, MaxDatagram: uint32(e.cfg.MaxDatagram), Window: uint32(e.cfg.RecvWindow),
		Features: wire.FeatureAtomics | wire.FeatureSeals | wire.FeatureVerdicts | wire.FeatureShow, Nonce: nonce}
	if e.cfg.Auth != nil {
		x.Features |= wire.FeatureAuth
	}
	return x
}

// receiveRTS answers a peer that wants to speak to us.
func (e *Engine) receiveRTS(now int64, from netip.AddrPort, pkt []byte) {
	var r wire.RTS
	trailing, err := r.Parse(pkt)
	if err != nil || !sourceIs(r.Source, from) {
		e.Stats.Malformed++
		return
	}
	if !wire.Intact(pkt, trailing) { // else a gofabric peer could be taken for a native one
		e.Stats.BadChecksum++
		return
	}
	if x, ok := wire.ParseExt(trailing); ok && e.cfg.Extensions {
		e.receiveRTSX(now, from, &r, &x)
		return
	}
	if e.cfg.Auth != nil {
		e.Stats.Denied++ // native has no keys
		return
	}
	e.receiveRTSNative(now, from, &r)
}

// sourceIs checks the name that the sender of an RTS gives itself. The address may be one of several, or behind a translator, and is not needed; the
// port is what tells one endpoint of a host from another.
func sourceIs(source, from netip.AddrPort) bool {
	return source.Port() == from.Port()
}

// receiveCTS takes the answer to our RTS.
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
	p := e.find(from)
	if p == nil || c.RTSAddr != uint64(p.index) || p.hs == nil {
		if p == nil || p.state != native { // a native peer answers each repetition
			e.Stats.Unknown++
		}
		return
	}
	x, ok := wire.ParseExt(trailing)
	switch {
	case p.state == native:
		p.revalidateCTS(uint32(c.CTSAddr))
	case ok && e.cfg.Extensions:
		e.receiveCTSX(now, p, &c, &x)
	case p.state == requesting && e.cfg.Auth != nil:
		p.fail(xengine.ErrAuth) // native has no keys
	case p.state == requesting && uint32(c.CTSAddr) != 0:
		p.becomeNative(now, uint32(c.CTSAddr))
	default:
		e.Stats.Unknown++
	}
}
