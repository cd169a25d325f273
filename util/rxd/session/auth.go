package session

import (
	"net/netip"

	"gofabric/internal/authkey"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// Authorization keys (fi_endpoint(3), auth_key). The end that sends RTS proves that it has the key when it returns
// the cookie, before the other end keeps any state. The end that answers proves it in the CTS with "up", before the
// first end sends any data. Both proofs cover the random numbers of both ends, so that a recorded proof is of no
// use. docs/wire/rxd.md, "Authorization keys", has the computation.

// The labels of the two proofs differ, so that one cannot be used as the other.
const (
	labelAsk    = "gofabric rxd ask"
	labelAnswer = "gofabric rxd answer"
)

// identity is what one end has drawn at random: its connection id and the epoch of its endpoint.
type identity struct{ id, epoch uint64 }

// prove computes the proof of the end that sends RTS (asks), or of the end that answers.
func (e *Engine) prove(label string, asks identity, nonce, cookie uint64, answers identity) authkey.Proof {
	return e.cfg.Auth.Key.Prove(label, []uint64{asks.id, asks.epoch, nonce, cookie, answers.id, answers.epoch}, nil)
}

// hasKey reports whether x is from an endpoint with a key.
func hasKey(x *wire.Ext) bool { return x.Features&wire.FeatureAuth != 0 }

// rtsBlock is the block of our RTS to p. It has our proof once the peer's numbers are known.
func (e *Engine) rtsBlock(p *Peer) wire.Ext {
	h := p.hs
	x := e.block(p.local, h.nonce, h.cookie)
	if hasKey(&x) && h.cookie != 0 {
		x.Proof = e.prove(labelAsk, identity{p.local, e.cfg.Epoch}, h.nonce, h.cookie, h.answerer)
	}
	return x
}

// sameAuth reports whether both ends have keys or both have none. If not, it queues an answer that says so.
func (e *Engine) sameAuth(from netip.AddrPort, r *wire.RTS, x *wire.Ext) bool {
	a := e.cfg.Auth
	if a != nil && a.Key == nil {
		return false // no key before the endpoint is enabled: the peer repeats its RTS
	}
	if hasKey(x) != (a != nil) {
		e.deny(from, r, x)
		return false
	}
	return true
}

// proofOK reports whether x, which has returned our cookie, was made with our key. If not, it queues an answer that
// says so.
func (e *Engine) proofOK(from netip.AddrPort, r *wire.RTS, x *wire.Ext, id uint64) bool {
	if e.cfg.Auth == nil {
		return true
	}
	if p := e.prove(labelAsk, identity{x.ConnID, x.Epoch}, x.Nonce, x.Cookie, identity{id, e.cfg.Epoch}); p.Is(x.Proof[:]) {
		return true
	}
	e.deny(from, r, x)
	return false
}

// deny queues the answer that the peer's key is not ours. It is no longer than the RTS.
func (e *Engine) deny(to netip.AddrPort, r *wire.RTS, x *wire.Ext) {
	e.Stats.Denied++
	b := e.block(e.connID(to, x), x.Nonce, 0)
	b.Flags, b.Features = wire.ExtDenied, b.Features&^wire.FeatureAuth
	e.queueAnswer(answer{to: to, cts: wire.CTS{RTSAddr: r.RTSAddr, CTSAddr: uint64(uint32(b.ConnID) | 1)}, ext: b, has: true})
}

// addProof completes the block of a CTS with "up", which answers x.
func (e *Engine) addProof(x, b *wire.Ext) {
	if hasKey(b) && b.Flags&wire.ExtUp != 0 {
		b.Proof = e.prove(labelAnswer, identity{x.ConnID, x.Epoch}, x.Nonce, b.Cookie, identity{b.ConnID, b.Epoch})
	}
}

// checkAuth checks keys and proof in a CTS of p with block x. It reports whether the caller shall go on with the
// CTS.
func (e *Engine) checkAuth(now int64, p *Peer, x *wire.Ext) bool {
	h := p.hs
	switch {
	// The peer has denied, or only one end has a key.
	case x.Flags&wire.ExtDenied != 0, hasKey(x) != (e.cfg.Auth != nil):
		p.fail(xengine.ErrAuth)
		return false
	case e.cfg.Auth == nil:
		return true
	// "Up" must prove that the peer has the key.
	case x.Flags&wire.ExtUp != 0:
		w := e.prove(labelAnswer, identity{p.local, e.cfg.Epoch}, h.nonce, x.Cookie, identity{x.ConnID, x.Epoch})
		if !w.Is(x.Proof[:]) {
			p.fail(xengine.ErrAuth)
			return false
		}
		return true
	}
	// A CTS with a cookie proves nothing yet. Operations wait until one with a proof has come.
	if peer := (identity{x.ConnID, x.Epoch}); h.cookie != x.Cookie || h.answerer != peer {
		h.cookie, h.answerer, h.sendDue = x.Cookie, peer, true
		h.start(now, e.cfg.HandshakeTimeout)
	}
	e.armDeadline(p, h.due)
	e.enqueue(p)
	return false
}
