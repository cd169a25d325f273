package session

import (
	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

var errPeerClose = xengine.ErrPeerClose

// resendFirst is the first interval between retransmissions to a native peer, in nanoseconds. It is doubled each
// time, up to flow.MaxProbeInterval. Native begins with 1 ms.
const resendFirst = int64(2e6)

// dupAckThreshold is how many acknowledgements with the same number show a loss (RFC 5681, 3.2). Native drops a
// packet that comes too early and acknowledges the one that it expects.
const dupAckThreshold = 3

// gateway translates between the Conn's stream and the packets of a native peer, in both directions and in order.
// docs/wire/rxd.md, "Sequence" and "Acknowledgement and window", has native's rules (prov/rxd of libfabric).
//
// Retransmission is go-back-N: native keeps no packet that comes too early, so everything from the first
// unacknowledged packet on is sent again. A native peer has no congestion control; its window of MaxUnacked packets
// is the only limit.
type gateway struct {
	remote uint32  // the peer's index of us: our packets carry it
	old    indices // earlier indices that packets of the peer may still carry
	seq    uint64  // number of our next packet
	acked  uint64  // the peer has all packets before this number
	expect uint64  // number of the peer's next packet
	window int     // packets that the peer takes without acknowledging one

	first, final *packet // list of the packets that are not acknowledged
	count        int     // its length
	resend       *packet // next packet to send again
	dupAcks      int     // acknowledgements in a row with the same number
	recoverSeq   uint64  // of our next packet when the last retransmission began; none begins before its ack
	retries      uint8   // time-outs in a row
	earlyCount   uint8   // how often the packet with number earlySeq came
	due          int64   // retransmission time-out; 0: none
	receivedAt   int64   // last packet of the peer
	earlySeq     uint64  // least number of a packet that came too early (acceptsJump)
	progressAt   int64   // last acknowledgement of a packet, or first transmission
	refusedAt    int64   // since when the peer refuses our next operation; 0: it does not

	// Peers that were known before, to this process or to another one at our address (pastpeer.go).
	initiated bool // we sent RTS first: the peer may have known another process at our address
	syncing   bool // the peer must say which number it expects before anything is sent
	probeDue  bool // the question is due
	jumped    bool // it expected a number above ours (jumpTo)
	stale     bool // it may continue an operation of which we know nothing: such packets are dropped

	// A silent peer is asked whether it is the same process (revalidate.go).
	revalidating  bool  // it has not answered yet
	indexRenewed  bool  // it got another index for the question
	revalidatedAt int64 // last answer

	// Receiving.
	ackDue       bool // an ack is due
	refusing     bool // the peer's next operation names memory that it may not access
	closedWindow bool // the last ack said that we take nothing
	partial      bool // the Conn stalled within the last packet: it is acknowledged when all of it was taken

	out outgoing
	in  inbound

	reads  queue.FIFO[read]   // our reads and fetching atomics without an answer
	served queue.FIFO[uint32] // tx ids of the peer's, without an answer
	txID   uint16
}

// read is a read or fetching atomic of ours that waits for its answer.
type read struct {
	tx   uint16
	size uint64 // of the answer, bytes
	op   uint8  // xwire.Op of the answer in the Conn's stream
}

// becomeNative makes p a native peer whose index of us is remote.
func (p *Peer) becomeNative(now int64, remote uint32) {
	p.hs = nil
	p.nat = &gateway{remote: remote, window: p.e.cfg.MaxUnacked, progressAt: now, initiated: !p.passive}
	// A peer with the same index of us as before may be the same process, which continues its numbers.
	if m, ok := p.e.pastPeers[p.Addr]; ok {
		delete(p.e.pastPeers, p.Addr)
		if m.remote == remote {
			m.inherit(p.nat)
		}
	}
	// A peer that we contact for the first time may have known another process at our address.
	if g := p.nat; g.initiated && g.seq == 0 && g.expect == 0 {
		g.syncing, g.probeDue = true, true
	}
	p.becomeUp(native)
}

// nothingReceived reports that no packet and no acknowledgement has come from the peer.
func (g *gateway) nothingReceived() bool { return g.expect == 0 && g.acked == 0 }

// restarted reports whether a packet with an index given out after an RTS shows that its sender is a new process,
// with remote as its index of us. A process that continues also continues its numbers, and does not forget what it
// acknowledged.
func (g *gateway) restarted(base wire.Base, remote uint32) bool {
	// An ack below what was acknowledged comes from a process that does not know of it.
	if base.Type == wire.TypeAck {
		return base.Seq < g.acked
	}
	return base.Seq == neverSeq || base.Seq == 0 && (g.expect > 0 || remote != g.remote)
}

// free gives the packets back to the engine.
func (g *gateway) free(e *Engine) {
	for pk := g.first; pk != nil; {
		next := pk.next
		e.putPacket(pk)
		pk = next
	}
	g.first, g.final, g.resend, g.count = nil, nil, nil, 0
}

// pollNative fills in the next packet to the peer: an ack, a question, a retransmission, or the next packet of the
// stream.
func (p *Peer) pollNative(now int64, out *Out) bool {
	g := p.nat
	if g.ackDue {
		p.pollAck(out)
		return true
	}
	// Nothing of the sequence may leave before the peer has answered.
	if g.syncing || g.revalidating {
		return p.pollSeqProbe(now, out)
	}
	if pk := g.resend; pk != nil {
		g.resend = pk.next
		p.e.Stats.Retransmitted++
		pk.emit(p, out)
		return true
	}
	// The window is full. To a peer that we contacted, only one packet may be out before its first ack: the ack
	// must show whether the peer took this packet, or took it for one of an older process (jumpTo).
	if g.count >= g.window && g.count > 0 || g.initiated && g.acked == 0 && g.count > 0 {
		return false
	}
	// With nothing in flight the peer may have been silent for long: it may be another process (revalidate.go).
	if g.count == 0 && (g.out.active || p.conn.Unsent() > 0) && p.mustRevalidate(now) {
		p.pollRTS(now, out)
		return true
	}
	pk := p.nextPacket()
	if pk == nil {
		return false
	}
	// The first packet in flight starts the retransmission timer.
	if g.final == nil {
		g.first, g.progressAt = pk, now
		g.due = now + resendFirst
	} else {
		g.final.next = pk
	}
	g.final = pk
	g.count++
	pk.emit(p, out)
	return true
}

// pollAck fills in an ack. A refusal is window 0, as native's. Window 1 says that we take nothing at present: 0
// would make native give up, while one packet may be out and is repeated until we take it.
func (p *Peer) pollAck(out *Out) {
	g := p.nat
	g.ackDue = false
	a := wire.Ack{Base: wire.Base{Type: wire.TypeAck, Peer: g.remote, Seq: g.expect}}
	g.closedWindow = true
	switch {
	case g.refusing:
	case p.stalled():
		a.Window = 1
		// The last packet is not taken completely, so it must not be acknowledged.
		if g.partial {
			a.Seq--
		}
	default:
		g.closedWindow, a.Window = false, uint16(p.e.cfg.MaxUnacked)
	}
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = a.Append(out.Head[:0])
	out.Len = len(out.Head)
}

// stalled reports that packets of operations are not taken at present.
func (p *Peer) stalled() bool { return p.conn.Stalled() }

// resumeNative opens the window again.
func (p *Peer) resumeNative() bool {
	p.nat.ackDue = p.nat.ackDue || p.nat.closedWindow
	return p.answerEmptyReads()
}

// processAck takes an ack: it releases packets, adjusts the window, and detects losses and refusals.
func (p *Peer) processAck(now int64, pkt []byte) {
	g, e := p.nat, p.e
	var a wire.Ack
	// An ack of packets that were not sent is wrong, except for the first one: a peer that knew another process at
	// our address acknowledges that one's packets.
	if err := a.Parse(pkt); err != nil || a.Seq > g.seq && (g.acked != 0 || g.jumped || a.Seq >= neverSeq-g.seq) {
		e.Stats.Malformed++
		return
	}
	if g.revalidating && !p.revalidateAck(now, &a) {
		return
	}
	if g.syncing {
		if g.retries > 0 { // it may be the answer to our question; before that it answers older packets
			p.synchronized(now, a.Seq)
		}
		return
	}
	// The peer expects a later number than ours: continue there.
	if a.Seq > g.seq {
		p.jumpTo(a.Seq)
		return
	}
	if a.Seq < g.acked {
		return // overtaken by a newer ack
	}
	// A native peer sends its FI_OFI_RXD_MAX_UNACKED; our limit may be lower.
	g.window = min(int(a.Window), e.cfg.MaxUnacked)
	if a.Seq == g.acked {
		if a.Window == 1 {
			g.progressAt = now // the peer is alive but takes nothing now (pollAck)
		}
		// The peer will not take this access, and it takes nothing behind it. The only way out is the end of the
		// connection.
		if a.Window == 0 && g.refused(now) {
			p.fail(xengine.ErrAccess)
			return
		}
		// Retransmit before the timer, once per window: recoverSeq prevents that acks of the retransmission start
		// it again.
		if g.dupAcks++; g.dupAcks >= dupAckThreshold && g.first != nil && g.acked >= g.recoverSeq && a.Window > 0 {
			g.goBackN()
		}
		e.Posted(p)
		return
	}
	// The ack is for new packets: release them in order, and complete their operations.
	g.dupAcks, g.retries, g.acked, g.progressAt, g.refusedAt = 0, 0, a.Seq, now, 0
	for pk := g.first; pk != nil && pk.seq < a.Seq; pk = g.first {
		if g.first = pk.next; g.first == nil {
			g.final = nil
		}
		if g.resend == pk {
			g.resend = pk.next
		}
		g.count--
		n, ack := pk.stream, pk.confirm
		e.putPacket(pk)
		p.conn.Transmitted(n)
		if ack {
			p.conn.Arrived()
		}
		if !p.checkConn(nil) {
			return
		}
	}
	g.due = 0
	if g.first != nil {
		g.due = now + resendFirst
	}
	if p.answerEmptyReads() {
		e.Posted(p)
	}
}

// refusedMax is how long a peer may refuse a remote access before the access fails, in nanoseconds. The refusal may
// end, for example when memory is registered.
const refusedMax = int64(2e9)

// refused notes that the peer has refused our next operation, and reports whether it has done so for refusedMax.
// Native refuses every repetition of an access to memory that is not registered, and has no other negative answer.
func (g *gateway) refused(now int64) bool {
	// Only an access to memory can be refused; for other packets window 0 only means "not now". The second byte of
	// a packet is its type.
	if g.first == nil || g.first.nhead < wire.BaseLen || !wire.Type(g.first.head[1]).HasRMA() {
		return false
	}
	if g.refusedAt == 0 {
		g.refusedAt = now
	}
	return now-g.refusedAt >= refusedMax
}

// goBackN begins to send again everything that is not acknowledged.
func (g *gateway) goBackN() {
	g.resend, g.recoverSeq, g.dupAcks = g.first, g.seq, 0
}

// silentAt is when a peer counts as dead that has sent a part of an operation, or owes an answer; 0: never.
func (g *gateway) silentAt(timeout int64) int64 {
	if g.in.segs == 0 && g.reads.Len() == 0 {
		return 0
	}
	return max(g.receivedAt, g.progressAt) + timeout
}

// deadlineNative returns the next deadline; 0: none.
func (p *Peer) deadlineNative() int64 {
	at := p.nat.silentAt(p.e.cfg.PeerTimeout)
	if due := p.nat.due; due != 0 && (at == 0 || due < at) {
		return due
	}
	return at
}

// resendInterval is the time to the next repetition.
func (p *Peer) resendInterval() int64 {
	return min(resendFirst<<p.nat.retries, flow.MaxProbeInterval(p.e.cfg.PeerTimeout))
}

// advanceNative serves the deadlines of a native peer: it repeats packets or questions, or gives the peer up.
func (p *Peer) advanceNative(now int64) {
	g := p.nat
	if at := g.silentAt(p.e.cfg.PeerTimeout); at != 0 && at <= now {
		p.fail(xengine.ErrTimeout)
		return
	}
	if g.due == 0 || g.due > now || p.hs != nil {
		return
	}
	// The question was lost, or its answer: ask again.
	if g.revalidating && now-g.progressAt < p.e.cfg.PeerTimeout {
		g.probeDue, g.due = true, 0
		return
	}
	// Perhaps the peer keeps early packets and does not answer (FI_OFI_RXD_RETRY=0). Its first ack is the second
	// best answer (jumpTo).
	if g.syncing && g.seq == 0 && g.retries >= probesOfNewPeer {
		g.syncing, g.retries, g.due = false, 0, 0
		p.e.Posted(p)
		return
	}
	if g.syncing && now-g.progressAt < p.e.cfg.PeerTimeout {
		g.probeDue, g.due = true, 0
		return
	}
	if g.first == nil && !g.syncing {
		g.due = 0
		return
	}
	// No progress for the peer timeout, though everything was repeated.
	if now-g.progressAt >= p.e.cfg.PeerTimeout {
		p.fail(xengine.ErrTimeout)
		return
	}
	if p.mustRevalidate(now) {
		// The timer begins again for the oldest packet that is left.
		g.due = 0
		return
	}
	// Repeat, with twice the interval each time, but not beyond the moment when the peer is given up.
	g.goBackN()
	if g.retries < 32 {
		g.retries++
	}
	g.due = now + p.resendInterval()
	if end := g.progressAt + p.e.cfg.PeerTimeout; g.due > end {
		g.due = end
	}
}
