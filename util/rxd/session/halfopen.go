package session

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// Native peers have no cookies. An RTS from an unknown address gets a CTS with a random index, and an entry here.
// The sender has proved its address when a packet with this index arrives. The table is bounded: a flood of RTS
// with forged addresses evicts old entries and uses no more memory.
//
// The address may also belong to a known peer that has restarted. The new index and the sequence number of the
// first packet that carries it decide (Engine.admit).
//
// halfOpen is a native peer of which only an RTS is known. Anyone can send one with its address.
type halfOpen struct {
	addr       netip.AddrPort
	remote     uint32 // the peer's index of us
	index      uint32 // our index of the peer, a random number: a packet with it proves that the peer has our CTS
	continuing int    // packets with the new index that continue the old sequence
	prev, next *halfOpen
}

// repeatsForProof is how often a packet that continues the old sequence must arrive, without a first packet of a
// new one, before the RTS counts as late or forged.
const repeatsForProof = 8

// halfOpenTable has the newest half-open peers.
type halfOpenTable struct {
	m    map[netip.AddrPort]*halfOpen
	list halfOpen // ring, oldest first
	max  int
}

// init makes the table empty. It keeps n entries.
func (t *halfOpenTable) init(n int) {
	t.max = n
	t.m = map[netip.AddrPort]*halfOpen{}
	t.list.prev, t.list.next = &t.list, &t.list
}

// remove removes an entry.
func (t *halfOpenTable) remove(h *halfOpen) {
	delete(t.m, h.addr)
	h.prev.next, h.next.prev = h.next, h.prev
}

// put returns the entry for addr and makes one if there is none, in the place of the oldest if the table is full.
func (t *halfOpenTable) put(e *Engine, addr netip.AddrPort) *halfOpen {
	h := t.m[addr]
	if h == nil {
		// The oldest entry is the one most likely forged or lost.
		if len(t.m) >= t.max {
			h = t.list.next
			t.remove(h)
			e.Stats.Evicted++
		} else {
			h = &halfOpen{}
		}
		*h = halfOpen{addr: addr, index: uint32(e.random()>>32) | 1}
		t.m[addr] = h
		h.prev, h.next = t.list.prev, &t.list
		h.prev.next, t.list.prev = h, h
	}
	return h
}

// receiveRTSNative answers the RTS of a native peer.
func (e *Engine) receiveRTSNative(now int64, from netip.AddrPort, r *wire.RTS) {
	if uint32(r.RTSAddr) == 0 {
		e.Stats.Malformed++
		return
	}
	p := e.findPeer(from)
	var index uint32
	switch {
	// Both ends have asked. The peer gets the index that our RTS has given it.
	case p != nil && p.state == requesting:
		p.hs.hasRemote, p.hs.remote = true, uint32(r.RTSAddr)
		index = p.index
	case p != nil && p.state == native && p.nat.nothingReceived() && p.nat.remote == uint32(r.RTSAddr):
		index = p.index // our CTS was lost
	// An unknown peer, or a known one that may have restarted. Its first packet with the new index decides (admit).
	default:
		h := e.halfOpen.put(e, from)
		// Another process has sent RTS since. It needs an index of its own, or packets of the first would count as
		// its.
		if h.remote != 0 && h.remote != uint32(r.RTSAddr) {
			h.index = uint32(e.random()>>32) | 1
		}
		h.remote = uint32(r.RTSAddr)
		index = h.index
		// An answer to an unknown address is limited; the peer repeats its RTS.
		if !e.challenges.allow(now) {
			e.Stats.AnswersLost++
			return
		}
	}
	e.queueAnswer(answer{to: from, cts: wire.CTS{RTSAddr: r.RTSAddr, CTSAddr: uint64(index)}})
}

// receiveNative takes a packet from a peer that is connected, or becomes so by it.
func (e *Engine) receiveNative(now int64, from netip.AddrPort, base wire.Base, pkt []byte) {
	p := e.findPeer(from)
	// Another process has replaced the peer. It knows only the index of our last RTS.
	if p != nil && p.state == native && p.startsNewProcess(base) {
		e.replacePeer(p, p.nat.remote)
		p = e.findPeer(from)
	}
	if p == nil || p.state != native || p.index != base.Peer && !p.nat.old.has(base.Peer) {
		if p = e.admit(now, p, from, base); p == nil {
			e.Stats.Unknown++
			return
		}
	}
	p.processNative(now, base, pkt)
}

// admit returns the peer of a packet that proves that its sender has our CTS, and nil if it proves nothing. The
// packet does not carry the index of the connection with p, if there is one.
func (e *Engine) admit(now int64, p *Peer, from netip.AddrPort, base wire.Base) *Peer {
	// Both ends have asked. The peer's first packet may overtake its CTS.
	if p != nil && p.state == requesting && p.hs.hasRemote && p.index == base.Peer {
		p.becomeNative(now, p.hs.remote)
		if p.state != native {
			return nil
		}
		return p
	}
	// A peer that had ended here still sends with an index that we gave it.
	if m, ok := e.pastPeers[from]; ok && p == nil && base.Type != wire.TypeAck &&
		(m.index == base.Peer || m.old.has(base.Peer)) {
		if p = e.newPassive(from); p == nil {
			return nil
		}
		p.index = m.index
		p.becomeNative(now, m.remote)
		return p.ifNative()
	}
	h := e.halfOpen.m[from]
	// The sender does not know the index that our CTS gave it: it proves nothing.
	if h == nil || h.index != base.Peer {
		return nil
	}
	// The packet may continue the sequence of the known peer.
	if p != nil && p.state == native && !p.nat.restarted(base, h.remote) {
		// A packet that does not fit the old sequence decides nothing.
		if base.Type == wire.TypeAck || base.Seq != p.nat.expect {
			return nil
		}
		if h.continuing++; h.continuing < repeatsForProof {
			return nil // it may be a new process whose first packet is late
		}
		// The RTS was late or forged. Packets under way carry the old index.
		p.nat.old.push(p.index)
		p.index = h.index
		e.halfOpen.remove(h)
		return p
	}
	if base.Seq != 0 && base.Seq != neverSeq {
		return nil // the sequence of a new peer begins with 0, or with the question of pollSeqProbe
	}
	// The packet begins a new sequence: the old process is gone.
	if p != nil {
		e.Stats.Restarts++
		p.fail(errPeerClose)
	}
	delete(e.pastPeers, from)
	if p = e.peers[from]; p != nil { // the hook has posted to it again
		p.index = h.index
		e.halfOpen.remove(h)
		p.becomeNative(now, h.remote)
		return p.ifNative()
	}
	if p = e.newPassive(from); p == nil {
		return nil
	}
	p.index = h.index
	e.halfOpen.remove(h)
	p.becomeNative(now, h.remote)
	return p.ifNative()
}

// ifNative returns p if it is connected. A hook may have removed it.
func (p *Peer) ifNative() *Peer {
	if p.state != native {
		return nil
	}
	return p
}
