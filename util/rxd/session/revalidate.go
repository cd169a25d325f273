package session

import "gofabric/util/rxd/wire"

// Native crashes on an index that it has not given out (docs/wire/rxd.md, "Quirks"), and nothing tells us that the
// process at an address was replaced. Therefore a native peer that has been silent for a second is asked for its
// index again, with RTS, before anything else is sent to it. That keeps a new process at a known address alive.

const (
	// After this silence a native peer may be another process, nanoseconds.
	revalidateAfter = int64(1e9)
	// Native counts its indexes from 1, so a greater one is not native's. Ours are random, and unknown ones are
	// dropped without harm.
	nativeIndexMax = 1 << 16
)

// mustRevalidate reports whether the peer must answer before a packet may be sent. It asks the peer if that is due.
func (p *Peer) mustRevalidate(now int64) bool {
	g := p.nat
	if g.revalidating {
		return true
	}
	if g.nothingReceived() || g.syncing || g.remote >= nativeIndexMax ||
		now-max(g.receivedAt, g.revalidatedAt) < revalidateAfter {
		return false
	}
	g.revalidating, g.indexRenewed, g.resend = true, true, nil
	g.old.push(p.index)
	p.index = uint32(p.e.random()>>32) | 1 // packets with this index are newer than the question
	p.hs = &handshake{sendDue: true}
	p.hs.start(now, p.e.cfg.PeerTimeout)
	return true
}

// revalidateCTS takes the answer to our question. Another index shows another process. The same index may be a new
// process's, too, so the next question is which sequence number it expects (pollSeqProbe).
func (p *Peer) revalidateCTS(remote uint32) {
	// Another index: another process.
	if remote != p.nat.remote {
		p.e.replacePeer(p, remote)
		return
	}
	g := p.nat
	p.hs = nil
	g.probeDue, g.retries = true, 0
	p.e.Posted(p)
}

// revalidateAck takes an acknowledgement during the questions, and reports whether it shows the same process: a new
// one would expect a number below what was acknowledged.
func (p *Peer) revalidateAck(now int64, a *wire.Ack) bool {
	g := p.nat
	if a.Peer != p.index || p.hs != nil {
		return false // sent before the answer
	}
	if a.Seq < g.acked {
		p.e.replacePeer(p, g.remote)
		return false
	}
	g.revalidating, g.probeDue, g.retries, g.revalidatedAt, g.progressAt, g.due = false, false, 0, now, now, 0
	// Packets that were in flight when the question began are sent again.
	if g.first != nil {
		g.due = now + resendFirst
		g.goBackN()
	}
	p.e.Posted(p)
	return true
}

// startsNewProcess reports whether a packet is the first of a new process, which knows only our newest index.
func (p *Peer) startsNewProcess(base wire.Base) bool {
	return p.nat.indexRenewed && base.Peer == p.index && base.Type != wire.TypeAck && base.Seq == 0 && p.nat.expect > 0
}

// replacePeer ends a peer that another process has replaced. The new process knows p.index, so an entry in halfOpen
// keeps it.
func (e *Engine) replacePeer(p *Peer, remote uint32) {
	e.Stats.Restarts++
	addr := p.Addr
	h := e.halfOpen.put(e, addr)
	h.index, h.remote = p.index, remote
	p.fail(errPeerClose)
	delete(e.pastPeers, addr)
}
