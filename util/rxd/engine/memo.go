package engine

import (
	"slices"

	"gofabric/util/rxd/wire"
)

// memosKept is how many native peers that have ended are remembered.
const memosKept = 4096

// memo is what outlives a native peer. Native numbers the packets of a peer for as long as the process lives, whatever happens to us: who speaks to it
// again has to go on where it was.
type memo struct {
	remote, index      uint32
	old                indices
	seq, acked, expect uint64
}

// indices are the last indices that a native peer had before its newest: its operations carry that of the time when they were posted, and may wait long.
type indices [4]uint32

func (x *indices) has(index uint32) bool { return index != 0 && slices.Contains(x[:], index) }

func (x *indices) push(index uint32) {
	copy(x[1:], x[:])
	x[0] = index
}

// remember keeps what a native peer will expect if it is spoken to again.
func (e *Engine) remember(p *Peer) {
	g := p.nat
	if g.fresh() && g.seq == 0 {
		return
	}
	for addr := range e.memos {
		if len(e.memos) < memosKept {
			break
		}
		delete(e.memos, addr)
	}
	e.memos[p.Addr] = memo{remote: g.remote, index: p.index, old: g.old, seq: g.seq, acked: g.acked, expect: g.expect}
}

// inherit goes on where the peer was, which has to say first what of it has arrived.
func (m *memo) inherit(g *gateway) {
	g.old, g.seq, g.acked, g.expect = m.old, m.seq, m.acked, m.expect
	g.stale = true
	g.syncing = g.seq > 0
	g.probe = g.syncing
	g.recover = g.acked
}

// probesOfStranger is how often a peer to which nothing was sent yet is asked whether it knows our address.
const probesOfStranger = 6

// farAway is a sequence number that no packet ever has.
const farAway = 1 << 63

// pollSync asks the peer what it expects: with a packet that is far too early, which native drops and acknowledges.
func (p *Peer) pollSync(now int64, out *Out) bool {
	g := p.nat
	if !g.probe {
		return false
	}
	g.probe = false
	if g.tries < 32 {
		g.tries++
	}
	g.due = now + p.repeat()
	d := wire.Data{Base: wire.Base{Type: wire.TypeData, Peer: g.remote, Seq: farAway}}
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = d.Append(out.Head[:0])
	out.Len = len(out.Head)
	return true
}

// synced takes the peer's answer to pollSync.
func (p *Peer) synced(now int64, seq uint64) {
	g := p.nat
	if seq < g.acked { // it has lost what it once had: it is another process
		g.expect, g.stale, g.old = 0, false, indices{}
	}
	g.leapt = g.asked && g.seq == 0 && seq > 0 // it knows who was here before us
	g.syncing, g.probe, g.tries, g.due, g.heard = false, false, 0, 0, now
	g.seq, g.acked, g.recover = seq, seq, seq
	p.e.enqueue(p)
}

// leap goes on at seq, which a peer expects that was never heard to acknowledge anything: it still knows who was at our address before us, and has taken
// our packets for old ones.
func (p *Peer) leap(seq uint64) {
	g := p.nat
	delta := seq - g.acked
	for pk := g.first; pk != nil; pk = pk.next {
		pk.seq += delta
		wire.PutPeerSeq(pk.head[:pk.nhead], g.remote, pk.seq)
	}
	g.seq += delta
	g.acked, g.leapt = seq, true
	g.goBack()
	g.recover = seq
	p.e.Posted(p)
}

// leaps finds out where a peer is that knew who was at our address before us, by its first packet that is sent again: often, if it has not shown in
// another way that it knew somebody.
func (g *gateway) leaps(seq uint64) bool {
	if !g.asked || g.expect != 0 || seq == farAway || g.lowest < seq && g.lowest != 0 {
		return false
	}
	if g.lowest != seq {
		g.lowest, g.lowestCame = seq, 0
	}
	g.lowestCame++
	if !g.leapt && g.lowestCame < hitsOfLiving || g.lowestCame < 2 {
		return false
	}
	g.expect, g.stale = seq, true
	return true
}
