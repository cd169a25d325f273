package session

import (
	"slices"

	"gofabric/util/rxd/wire"
)

// A native peer keeps the sequence numbers of an address, even if the process there is replaced
// (docs/wire/rxd.md, "Restarted peers" and the two paragraphs after it). An engine that contacts such a peer again
// must continue where it was. An engine that contacts a peer for the first time may have a predecessor at its
// address, and must find out which numbers the peer expects.

// pastPeersKept is how many native peers that have ended are remembered.
const pastPeersKept = 4096

// pastPeer is what the engine remembers of a native peer that has ended. The fields are those of Peer and gateway.
type pastPeer struct {
	remote, index      uint32
	old                indices
	seq, acked, expect uint64
}

// indices are the last indices that we gave a native peer before its present one. A packet of the peer carries the
// index of the time when its operation was posted, and may wait for long.
type indices [4]uint32

// has reports whether index is one of them.
func (x *indices) has(index uint32) bool { return index != 0 && slices.Contains(x[:], index) }

// push adds an index and drops the oldest.
func (x *indices) push(index uint32) {
	copy(x[1:], x[:])
	x[0] = index
}

// remember keeps what a native peer expects if it is contacted again.
func (e *Engine) remember(p *Peer) {
	g := p.nat
	// The peer knows nothing of us that it could expect.
	if g.nothingReceived() && g.seq == 0 {
		return
	}
	// If there are too many, any one is dropped.
	for addr := range e.pastPeers {
		if len(e.pastPeers) < pastPeersKept {
			break
		}
		delete(e.pastPeers, addr)
	}
	e.pastPeers[p.Addr] = pastPeer{remote: g.remote, index: p.index, old: g.old, seq: g.seq, acked: g.acked, expect: g.expect}
}

// inherit makes g continue where the peer was. The peer must say first which of our packets have arrived.
func (m *pastPeer) inherit(g *gateway) {
	g.old, g.seq, g.acked, g.expect = m.old, m.seq, m.acked, m.expect
	// Packets of the operation that was under way may still come; its beginning is lost.
	g.stale = true
	g.syncing = g.seq > 0
	g.probeDue = g.syncing
	g.recoverSeq = g.acked
}

// probesOfNewPeer is how often a peer to which nothing was sent yet is asked which number it expects.
const probesOfNewPeer = 6

// neverSeq is a sequence number that no packet ever has: far above all that is expected.
const neverSeq = 1 << 63

// pollSeqProbe fills in the question which number the peer expects: an empty data packet that comes much too early.
// Native drops it and acknowledges with the number that it expects.
func (p *Peer) pollSeqProbe(now int64, out *Out) bool {
	g := p.nat
	if !g.probeDue {
		return false
	}
	g.probeDue = false
	if g.retries < 32 {
		g.retries++
	}
	g.due = now + p.resendInterval()
	d := wire.Data{Base: wire.Base{Type: wire.TypeData, Peer: g.remote, Seq: neverSeq}}
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = d.Append(out.Head[:0])
	out.Len = len(out.Head)
	return true
}

// synchronized takes the answer to pollSeqProbe: the peer expects seq.
func (p *Peer) synchronized(now int64, seq uint64) {
	g := p.nat
	if seq < g.acked { // it does not know what it acknowledged: it is another process
		g.expect, g.stale, g.old = 0, false, indices{}
	}
	g.jumped = g.initiated && g.seq == 0 && seq > 0 // it knew another process at our address
	g.syncing, g.probeDue, g.retries, g.due, g.progressAt = false, false, 0, 0, now
	g.seq, g.acked, g.recoverSeq = seq, seq, seq
	p.e.enqueue(p)
}

// jumpTo moves the numbers of our packets up to seq, which the peer expects, although it has acknowledged nothing
// yet. It knew another process at our address, and has dropped our packets as repetitions of that one's.
func (p *Peer) jumpTo(seq uint64) {
	g := p.nat
	// Renumber the packets in flight: their headers are encoded already.
	delta := seq - g.acked
	for pk := g.first; pk != nil; pk = pk.next {
		pk.seq += delta
		wire.PutPeerSeq(pk.head[:pk.nhead], g.remote, pk.seq)
	}
	g.seq += delta
	g.acked, g.jumped = seq, true
	g.goBackN()
	g.recoverSeq = seq
	p.e.Posted(p)
}

// acceptsJump reports whether packets of the peer continue at seq, because it knew another process at our address.
// Only an unacknowledged packet is repeated, so a repetition shows where the peer is. One is enough if the peer has
// shown in another way that it knew a process here. Otherwise it takes repeatsForProof, for packets may also be
// early because others were lost.
func (g *gateway) acceptsJump(seq uint64) bool {
	// Only the first packet of a peer that we contacted can be in question, and only the one with the lowest number
	// is repeated first.
	if !g.initiated || g.expect != 0 || seq == neverSeq || g.earlySeq < seq && g.earlySeq != 0 {
		return false
	}
	// A lower number than before, or the first one: count from here.
	if g.earlySeq != seq {
		g.earlySeq, g.earlyCount = seq, 0
	}
	g.earlyCount++
	if !g.jumped && g.earlyCount < repeatsForProof || g.earlyCount < 2 {
		return false
	}
	g.expect, g.stale = seq, true
	return true
}
