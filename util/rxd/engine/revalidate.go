package engine

import "gofabric/util/rxd/wire"

// This file keeps a native process alive that has taken the place of another one: native dies of an index that it has not given out, and nothing tells us
// that the one we know is of its predecessor. So a peer that was silent is asked for it again before anything is sent to it.

const (
	// silence is how long nothing may have come from a native peer that is believed to be the same process still, nanoseconds.
	silence = int64(1e9)
	// indexesOfNative is the end of the indexes that a peer may need to know: native counts them. Ours are random, and unknown ones are dropped.
	indexesOfNative = 1 << 16
)

// revalidates reports whether a packet may not be sent before the peer has answered, and sees to it that it is asked.
func (p *Peer) revalidates(now int64) bool {
	g := p.nat
	if g.revalidating {
		return true
	}
	if g.fresh() || g.syncing || g.remote >= indexesOfNative || now-max(g.came, g.sure) < silence {
		return false
	}
	g.revalidating, g.renewed, g.repeat = true, true, nil
	g.old.push(p.index)
	p.index = uint32(p.e.random()>>32) | 1 // tells what is said from now on from what was said before
	p.hs = &handshake{send: true}
	p.hs.start(now, p.e.cfg.PeerTimeout)
	return true
}

// revalidateCTS takes the answer of a peer that was silent. The same index may be another process's as well: what it expects tells.
func (p *Peer) revalidateCTS(remote uint32) {
	if remote != p.nat.remote {
		p.e.replaced(p, remote)
		return
	}
	g := p.nat
	p.hs = nil
	g.probe, g.tries = true, 0
	p.e.Posted(p)
}

// revalidateAck takes an acknowledgement of a peer that was silent, and reports whether it is the one that it was.
func (p *Peer) revalidateAck(now int64, a *wire.Ack) bool {
	g := p.nat
	if a.Peer != p.index || p.hs != nil {
		return false // of earlier
	}
	if a.Seq < g.acked {
		p.e.replaced(p, g.remote)
		return false
	}
	g.revalidating, g.probe, g.tries, g.sure, g.heard, g.due = false, false, 0, now, now, 0
	if g.first != nil {
		g.due = now + repeatFirst
		g.goBack()
	}
	p.e.Posted(p)
	return true
}

// anew reports whether a packet is the first of a new process, which was told our newest index only.
func (p *Peer) anew(base wire.Base) bool {
	return p.nat.renewed && base.Peer == p.index && base.Type != wire.TypeAck && base.Seq == 0 && p.nat.expect > 0
}

// replaced ends a peer in whose place is another process now, which knows the index that p has.
func (e *Engine) replaced(p *Peer, remote uint32) {
	e.Stats.Restarts++
	addr := p.Addr
	h := e.half.put(e, addr)
	h.index, h.remote = p.index, remote
	p.fail(errPeerClose)
	delete(e.memos, addr)
}
