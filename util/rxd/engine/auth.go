package engine

import (
	"net/netip"

	"gofabric/internal/authkey"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// Authorization keys (fi_endpoint(3), auth_key). The end that asks proves that it has the key when it brings the cookie back, before anything is kept of it; the
// one that answers proves it in the CTS that says "up", before the other lets anything go. Both proofs are of the numbers that the two ends have drawn.

// The two proofs: none can stand for the other.
const (
	labelAsk    = "gofabric rxd ask"
	labelAnswer = "gofabric rxd answer"
)

// chosen is what one end has drawn.
type chosen struct{ id, epoch uint64 }

// prove makes the proof of the end that asks, or of the one that answers.
func (e *Engine) prove(label string, asks chosen, nonce, cookie uint64, answers chosen) authkey.Proof {
	return e.cfg.Auth.Key.Prove(label, []uint64{asks.id, asks.epoch, nonce, cookie, answers.id, answers.epoch}, nil)
}

// keyed says whether x is of an endpoint with a key.
func keyed(x *wire.Ext) bool { return x.Features&wire.FeatureAuth != 0 }

// askBlock is the block of our RTS to p.
func (e *Engine) askBlock(p *Peer) wire.Ext {
	h := p.hs
	x := e.block(p.local, h.nonce, h.cookie)
	if keyed(&x) && h.cookie != 0 {
		x.Proof = e.prove(labelAsk, chosen{p.local, e.cfg.Epoch}, h.nonce, h.cookie, h.peer)
	}
	return x
}

// sameKind reports whether both ends have keys, or both have none, and tells the peer if not.
func (e *Engine) sameKind(from netip.AddrPort, r *wire.RTS, x *wire.Ext) bool {
	a := e.cfg.Auth
	if a != nil && a.Key == nil {
		return false // not enabled yet: the peer asks again
	}
	if keyed(x) != (a != nil) {
		e.deny(from, r, x)
		return false
	}
	return true
}

// proved reports whether x, which has brought our cookie, was made with our key, and tells the peer if not.
func (e *Engine) proved(from netip.AddrPort, r *wire.RTS, x *wire.Ext, id uint64) bool {
	if e.cfg.Auth == nil {
		return true
	}
	if p := e.prove(labelAsk, chosen{x.ConnID, x.Epoch}, x.Nonce, x.Cookie, chosen{id, e.cfg.Epoch}); p.Is(x.Proof[:]) {
		return true
	}
	e.deny(from, r, x)
	return false
}

// deny tells a peer that its key is not ours. The answer is no longer than the question.
func (e *Engine) deny(to netip.AddrPort, r *wire.RTS, x *wire.Ext) {
	e.Stats.Denied++
	b := e.block(e.connID(to, x), x.Nonce, 0)
	b.Flags, b.Features = wire.ExtDenied, b.Features&^wire.FeatureAuth
	e.later(answer{to: to, cts: wire.CTS{RTSAddr: r.RTSAddr, CTSAddr: uint64(uint32(b.ConnID) | 1)}, ext: b, has: true})
}

// answerProof completes the block of a CTS with "up" that answers x.
func (e *Engine) answerProof(x, b *wire.Ext) {
	if keyed(b) && b.Flags&wire.ExtUp != 0 {
		b.Proof = e.prove(labelAnswer, chosen{x.ConnID, x.Epoch}, x.Nonce, b.Cookie, chosen{b.ConnID, b.Epoch})
	}
}

// takeAnswer looks at keys in the CTS x of p, and reports whether the rest is to be looked at.
func (e *Engine) takeAnswer(now int64, p *Peer, x *wire.Ext) bool {
	h := p.hs
	switch {
	case x.Flags&wire.ExtDenied != 0, keyed(x) != (e.cfg.Auth != nil):
		p.fail(xengine.ErrAuth)
		return false
	case e.cfg.Auth == nil:
		return true
	case x.Flags&wire.ExtUp != 0:
		if w := e.prove(labelAnswer, chosen{p.local, e.cfg.Epoch}, h.nonce, x.Cookie, chosen{x.ConnID, x.Epoch}); !w.Is(x.Proof[:]) {
			p.fail(xengine.ErrAuth)
			return false
		}
		return true
	}
	// What waits for the peer goes on waiting until it has proved what it is.
	if peer := (chosen{x.ConnID, x.Epoch}); h.cookie != x.Cookie || h.peer != peer {
		h.cookie, h.peer, h.send = x.Cookie, peer, true
		h.start(now, e.cfg.HandshakeTimeout)
	}
	e.lookAt(p, h.due)
	e.enqueue(p)
	return false
}
