package engine

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// half is a native peer of which only an RTS is known, which anybody can send in its name.
type half struct {
	addr       netip.AddrPort
	remote     uint32 // the peer's index for us
	index      uint32 // ours for the peer, a random number: what proves that the peer has received our CTS
	hits       int    // packets with the new index that fit where the peer was
	prev, next *half
}

// hitsOfLiving is how often a peer must repeat a packet that fits where it was, and not once the first of all, to be no new process.
const hitsOfLiving = 8

// halfTable keeps the newest native peers that have not shown that they are where they say.
type halfTable struct {
	m    map[netip.AddrPort]*half
	list half // of all, oldest first
	max  int
}

func (t *halfTable) init(n int) {
	t.max = n
	t.m = map[netip.AddrPort]*half{}
	t.list.prev, t.list.next = &t.list, &t.list
}

func (t *halfTable) remove(h *half) {
	delete(t.m, h.addr)
	h.prev.next, h.next.prev = h.next, h.prev
}

// put returns the entry for addr, made if there is none.
func (t *halfTable) put(e *Engine, addr netip.AddrPort) *half {
	h := t.m[addr]
	if h == nil {
		if len(t.m) >= t.max {
			h = t.list.next
			t.remove(h)
			e.Stats.Evicted++
		} else {
			h = &half{}
		}
		*h = half{addr: addr, index: uint32(e.random()>>32) | 1}
		t.m[addr] = h
		h.prev, h.next = t.list.prev, &t.list
		h.prev.next, t.list.prev = h, h
	}
	return h
}

// receiveRTSNative answers a native peer.
func (e *Engine) receiveRTSNative(now int64, from netip.AddrPort, r *wire.RTS) {
	if uint32(r.RTSAddr) == 0 {
		e.Stats.Malformed++
		return
	}
	p := e.find(from)
	var index uint32
	switch {
	case p != nil && p.state == requesting:
		p.hs.hasRemote, p.hs.remote = true, uint32(r.RTSAddr)
		index = p.index
	case p != nil && p.state == native && p.nat.fresh() && p.nat.remote == uint32(r.RTSAddr):
		index = p.index // our CTS was lost
	default:
		// A stranger, or a peer that may have started again: what it sends with the new index will tell (receiveNative).
		h := e.half.put(e, from)
		if h.remote != 0 && h.remote != uint32(r.RTSAddr) { // another one by now: packets of the first must not be taken for its
			h.index = uint32(e.random()>>32) | 1
		}
		h.remote = uint32(r.RTSAddr)
		index = h.index
		if !e.unknown.may(now) {
			e.Stats.AnswersLost++
			return
		}
	}
	e.later(answer{to: from, cts: wire.CTS{RTSAddr: r.RTSAddr, CTSAddr: uint64(index)}})
}

// receiveNative takes a packet of a peer that is, or may be, up.
func (e *Engine) receiveNative(now int64, from netip.AddrPort, base wire.Base, pkt []byte) {
	p := e.find(from)
	if p != nil && p.state == native && p.anew(base) {
		e.replaced(p, p.nat.remote)
		p = e.find(from)
	}
	if p == nil || p.state != native || p.index != base.Peer && !p.nat.old.has(base.Peer) {
		if p = e.admit(now, p, from, base); p == nil {
			e.Stats.Unknown++
			return
		}
	}
	p.takeNative(now, base, pkt)
}

// admit finds out whether a packet proves that its sender has received our CTS, and returns its peer then.
func (e *Engine) admit(now int64, p *Peer, from netip.AddrPort, base wire.Base) *Peer {
	if p != nil && p.state == requesting && p.hs.hasRemote && p.index == base.Peer {
		p.becomeNative(now, p.hs.remote)
		if p.state != native {
			return nil
		}
		return p
	}
	if m, ok := e.memos[from]; ok && p == nil && base.Type != wire.TypeAck && (m.index == base.Peer || m.old.has(base.Peer)) {
		if p = e.newPassive(from); p == nil {
			return nil
		}
		p.index = m.index
		p.becomeNative(now, m.remote)
		return p.ifNative()
	}
	h := e.half.m[from]
	if h == nil || h.index != base.Peer {
		return nil
	}
	if p != nil && p.state == native && !p.nat.restarted(base, h.remote) {
		if base.Type == wire.TypeAck || base.Seq != p.nat.expect {
			return nil
		}
		if h.hits++; h.hits < hitsOfLiving {
			return nil // of a new process, the first packet may be late
		}
		// The peer went on where it was: the RTS was late, or forged. What it had under way carries the old index.
		p.nat.old.push(p.index)
		p.index = h.index
		e.half.remove(h)
		return p
	}
	if base.Seq != 0 && base.Seq != farAway {
		return nil // of a new peer the first packet must come first
	}
	if p != nil {
		e.Stats.Restarts++
		p.fail(errPeerClose)
	}
	delete(e.memos, from)
	if p = e.peers[from]; p != nil { // the driver has asked for it again
		p.index = h.index
		e.half.remove(h)
		p.becomeNative(now, h.remote)
		return p.ifNative()
	}
	if p = e.newPassive(from); p == nil {
		return nil
	}
	p.index = h.index
	e.half.remove(h)
	p.becomeNative(now, h.remote)
	return p.ifNative()
}

// ifNative is p if it is up.
func (p *Peer) ifNative() *Peer {
	if p.state != native {
		return nil
	}
	return p
}
