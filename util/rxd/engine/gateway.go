package engine

import (
	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

var errPeerClose = xengine.ErrPeerClose

// repeatFirst is the first interval between retransmissions to a native peer, nanoseconds; each is twice the one before, up to flow.Seldom. Native begins with 1 ms.
const repeatFirst = int64(2e6)

// dupsBeforeRepeat is how many acknowledgements of the same packet say that the next one is lost: native drops, and acknowledges so, what comes too early.
const dupsBeforeRepeat = 3

// gateway translates between the Conn's stream and the packets of a native peer, each way in order. Packets that were not acknowledged are sent again
// from the first one on, for native peers keep nothing that comes too early (go-back-N).
type gateway struct {
	remote uint32  // our index at the peer: what our packets carry
	old    indices // of the peer, which its packets may still carry
	seq    uint64  // of our next packet
	acked  uint64  // the peer has everything before
	expect uint64  // of the peer's next packet
	window int     // packets that the peer takes before it acknowledges them

	first, final *packet // not acknowledged
	count        int
	repeat       *packet // the next one to send again
	dups         int
	recover      uint64 // packets before were sent when the last repetition began
	tries        uint8
	lowestCame   uint8
	due          int64  // when to send again, 0 never
	came         int64  // the last time that a packet came
	lowest       uint64 // of the sequence numbers that came too early, and how often it has come: see leaps
	heard        int64  // the last time that something was acknowledged, or first sent
	refusedAt    int64  // since when the peer does not take our next operation, 0 it does

	asked   bool // we spoke first, so the peer may know who was at our address before us
	syncing bool // a peer that knew us before must say what has arrived before anything new is sent
	probe   bool // ask it now
	leapt   bool // see leap
	stale   bool // it knew us before: what belongs to operations from then is dropped

	revalidating bool  // the peer was silent, and must say first who it is
	renewed      bool  // it was given another index for that
	sure         int64 // when it has said so

	ackDue    bool // an ACK is to be sent
	refusing  bool // the peer's next operation names memory that it may not access
	closedWin bool // the last ACK said that nothing is taken
	partly    bool // the Conn stalled within the last packet: it is not acknowledged before all of it is taken

	cut outgoing
	in  inbound

	reads  queue.FIFO[read]   // ours, not answered
	served queue.FIFO[uint32] // tx ids of the peer's, not answered
	txID   uint16
}

// read is a request of ours that the peer has not answered.
type read struct {
	tx   uint16
	size uint64
	op   uint8 // of the answer in the Conn's stream
}

// becomeNative makes p a native peer whose index for us is remote.
func (p *Peer) becomeNative(now int64, remote uint32) {
	p.hs = nil
	p.nat = &gateway{remote: remote, window: p.e.cfg.MaxUnacked, heard: now, asked: !p.passive}
	if m, ok := p.e.memos[p.Addr]; ok {
		delete(p.e.memos, p.Addr)
		if m.remote == remote {
			m.inherit(p.nat)
		}
	}
	if g := p.nat; g.asked && g.seq == 0 && g.expect == 0 {
		g.syncing, g.probe = true, true
	}
	p.becomeUp(native)
}

// fresh reports that nothing has come from the peer yet.
func (g *gateway) fresh() bool { return g.expect == 0 && g.acked == 0 }

// restarted reports whether a packet that carries an index given out only now shows that its sender has begun anew, with remote as its
// index for us: a peer that lives on numbers its packets on, and has not lost what it acknowledged.
func (g *gateway) restarted(base wire.Base, remote uint32) bool {
	if base.Type == wire.TypeAck {
		return base.Seq < g.acked
	}
	return base.Seq == farAway || base.Seq == 0 && (g.expect > 0 || remote != g.remote)
}

// free gives the packets back.
func (g *gateway) free(e *Engine) {
	for pk := g.first; pk != nil; {
		next := pk.next
		e.putPacket(pk)
		pk = next
	}
	g.first, g.final, g.repeat, g.count = nil, nil, nil, 0
}

// pollNative fills in the next packet to the peer.
func (p *Peer) pollNative(now int64, out *Out) bool {
	g := p.nat
	if g.ackDue {
		p.pollAck(out)
		return true
	}
	if g.syncing || g.revalidating {
		return p.pollSync(now, out)
	}
	if pk := g.repeat; pk != nil {
		g.repeat = pk.next
		p.e.Stats.Retransmitted++
		pk.emit(p, out)
		return true
	}
	if g.count >= g.window && g.count > 0 || g.asked && g.acked == 0 && g.count > 0 {
		return false // of a peer that was asked, the first answer must tell whether it has taken the first packet or an older one: see leap
	}
	if g.count == 0 && (g.cut.active || p.conn.Unsent() > 0) && p.revalidates(now) {
		p.pollRTS(now, out)
		return true
	}
	pk := p.nextPacket()
	if pk == nil {
		return false
	}
	if g.final == nil {
		g.first, g.heard = pk, now
		g.due = now + repeatFirst
	} else {
		g.final.next = pk
	}
	g.final = pk
	g.count++
	pk.emit(p, out)
	return true
}

// pollAck acknowledges.
func (p *Peer) pollAck(out *Out) {
	g := p.nat
	g.ackDue = false
	a := wire.Ack{Base: wire.Base{Type: wire.TypeAck, Peer: g.remote, Seq: g.expect}}
	g.closedWin = true
	switch {
	case g.refusing:
	case p.refuses(): // not 0, for that says more to native: one packet may be out, and is repeated until it is taken
		a.Window = 1
		if g.partly {
			a.Seq--
		}
	default:
		g.closedWin, a.Window = false, uint16(p.e.cfg.MaxUnacked)
	}
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = a.Append(out.Head[:0])
	out.Len = len(out.Head)
}

// refuses reports that packets of operations are not taken now.
func (p *Peer) refuses() bool { return p.conn.Stalled() }

// resumeNative tells the peer that packets are taken again.
func (p *Peer) resumeNative() bool {
	p.nat.ackDue = p.nat.ackDue || p.nat.closedWin
	return p.settle()
}

// takeAck takes an acknowledgement.
func (p *Peer) takeAck(now int64, pkt []byte) {
	g, e := p.nat, p.e
	var a wire.Ack
	if err := a.Parse(pkt); err != nil || a.Seq > g.seq && (g.acked != 0 || g.leapt || a.Seq >= farAway-g.seq) {
		e.Stats.Malformed++
		return
	}
	if g.revalidating && !p.revalidateAck(now, &a) {
		return
	}
	if g.syncing {
		if g.tries > 0 { // it may answer our question; before, it answers what was sent long ago
			p.synced(now, a.Seq)
		}
		return
	}
	if a.Seq > g.seq {
		p.leap(a.Seq)
		return
	}
	if a.Seq < g.acked {
		return // overtaken by a later one
	}
	g.window = min(int(a.Window), e.cfg.MaxUnacked)
	if a.Seq == g.acked {
		if a.Window == 1 {
			g.heard = now // the peer is there, but takes nothing now (pollAck)
		}
		if a.Window == 0 && g.refused(now) {
			p.fail(xengine.ErrAccess)
			return
		}
		if g.dups++; g.dups >= dupsBeforeRepeat && g.first != nil && g.acked >= g.recover && a.Window > 0 {
			g.goBack()
		}
		e.Posted(p)
		return
	}
	g.dups, g.tries, g.acked, g.heard, g.refusedAt = 0, 0, a.Seq, now, 0
	for pk := g.first; pk != nil && pk.seq < a.Seq; pk = g.first {
		if g.first = pk.next; g.first == nil {
			g.final = nil
		}
		if g.repeat == pk {
			g.repeat = pk.next
		}
		g.count--
		n, ack := pk.stream, pk.ack
		e.putPacket(pk)
		p.conn.Transmitted(n)
		if ack {
			p.conn.Arrived()
		}
		if !p.checked(nil) {
			return
		}
	}
	g.due = 0
	if g.first != nil {
		g.due = now + repeatFirst
	}
	if p.settle() {
		e.Posted(p)
	}
}

// refusedTooLong is how long a peer may refuse a remote access before it is believed not to change its mind, nanoseconds.
const refusedTooLong = int64(2e9)

// refused notes that the peer has answered that it takes nothing. Native answers so for ever when an access names memory that is not there.
func (g *gateway) refused(now int64) bool {
	if g.first == nil || g.first.nhead < wire.BaseLen || !wire.Type(g.first.head[1]).HasRMA() {
		return false
	}
	if g.refusedAt == 0 {
		g.refusedAt = now
	}
	return now-g.refusedAt >= refusedTooLong
}

// goBack sends everything again that was not acknowledged.
func (g *gateway) goBack() {
	g.repeat, g.recover, g.dups = g.first, g.seq, 0
}

// silentAt is when a peer that has not sent all of an operation, or not answered, counts as dead; 0 never.
func (g *gateway) silentAt(timeout int64) int64 {
	if g.in.segs == 0 && g.reads.Len() == 0 {
		return 0
	}
	return max(g.came, g.heard) + timeout
}

// deadlineNative is when advanceNative wants to be called, 0 never.
func (p *Peer) deadlineNative() int64 {
	at := p.nat.silentAt(p.e.cfg.PeerTimeout)
	if due := p.nat.due; due != 0 && (at == 0 || due < at) {
		return due
	}
	return at
}

// repeat is how long to wait before a native peer is asked again.
func (p *Peer) repeat() int64 {
	return min(repeatFirst<<p.nat.tries, flow.Seldom(p.e.cfg.PeerTimeout))
}

// advanceNative sends again, or gives up.
func (p *Peer) advanceNative(now int64) {
	g := p.nat
	if at := g.silentAt(p.e.cfg.PeerTimeout); at != 0 && at <= now {
		p.fail(xengine.ErrTimeout)
		return
	}
	if g.due == 0 || g.due > now || p.hs != nil {
		return
	}
	if g.revalidating && now-g.heard < p.e.cfg.PeerTimeout {
		g.probe, g.due = true, 0
		return
	}
	if g.syncing && g.seq == 0 && g.tries >= probesOfStranger { // perhaps it keeps what comes too early, and says nothing: leap is the second best
		g.syncing, g.tries, g.due = false, 0, 0
		p.e.Posted(p)
		return
	}
	if g.syncing && now-g.heard < p.e.cfg.PeerTimeout {
		g.probe, g.due = true, 0
		return
	}
	if g.first == nil && !g.syncing {
		g.due = 0
		return
	}
	if now-g.heard >= p.e.cfg.PeerTimeout {
		p.fail(xengine.ErrTimeout)
		return
	}
	if p.revalidates(now) {
		g.due = 0
		return
	}
	g.goBack()
	if g.tries < 32 {
		g.tries++
	}
	g.due = now + p.repeat()
	if end := g.heard + p.e.cfg.PeerTimeout; g.due > end {
		g.due = end
	}
}
