package flow

import "gofabric/util/rxd/wire"

// Flow is the stream to one peer and the stream back. The zero value is not usable: call Init. A Flow is not safe
// for concurrent use.
//
// An idle flow has no buffers: tx and rx come from the Pool when they are needed, and go back after Config.Linger.
// TestSize limits the size of the struct, because an endpoint may have many thousand idle peers.
type Flow struct {
	// ConnID identifies the flow at the peer. Every datagram carries it. The owner may change it.
	ConnID uint64

	cfg  *Config
	src  Source
	sink Sink
	tx   *sender   // nil if nothing was sent for Config.Linger
	rx   *receiver // nil if no data waits behind a hole
	dead error     // see Dead

	// Transmitting. The names follow RFC 9293, 3.3.1 (SND.UNA, SND.NXT): sndUna is the first byte without an
	// acknowledgement, sndNxt the next byte to send, and sndUna <= sndNxt. tx has the segments between them.
	sndUna, sndNxt uint64
	sndEdge        uint64 // right edge of the peer's window: bytes before it may be sent
	cwnd           int    // congestion window, bytes
	path           path

	// Receiving (RCV.NXT of RFC 9293).
	rcvNxt   uint64 // next byte to deliver
	rcvFin   uint64 // with fFinReceived: end of the peer's stream
	unacked  uint32 // bytes delivered since our last acknowledgement
	echo     uint32 // Time of the datagram that the next header echoes; 0: none
	edgeTime uint32 // Time of the datagram that sndEdge comes from
	payload  uint32 // most bytes of payload in a datagram now (pathmtu.go)
	echoAt   int64  // when the datagram with the time in echo arrived

	// Times in nanoseconds; 0 means unset. Deadline is the least of those that name something to do.
	receivedAt    int64 // last datagram of the peer
	awaitingSince int64 // since when the flow waits for an acknowledgement or an answer
	lossAt        int64 // probe time-out, retransmission time-out or window probe
	rackAt        int64 // end of the reordering window (RFC 8985)
	ackAt         int64 // delayed acknowledgement
	paceAt        int64 // pacing lets the next data leave
	pacedUntil    int64 // when the data sent so far has left at the paced rate
	keepAliveAt   int64 // next probe of a silent peer
	lingerAt      int64 // buffers go back to the pool

	flags           flowFlags
	backoff         uint8  // doublings of the retransmission time-out
	probes          uint8  // tail loss probes since the last acknowledgement of new data
	peerMaxDatagram uint16 // bytes
	maxPayload      uint16 // most bytes of payload that interface, route and peer allow
	stats           Counts
	pathMTU         pathMTU
}

// flowFlags has one bit for each thing that a flow has to do or remembers.
type flowFlags uint32

const (
	fAckNow        flowFlags = 1 << iota // an acknowledgement is due
	fProbe                               // a probe without data is due: window probe or keep-alive
	fTailProbe                           // a tail loss probe is due (RFC 8985, 7)
	fResendFirst                         // the first segment is due again after a time-out
	fStalled                             // the sink is stalled: we advertise window 0
	fClosing                             // Close was called
	fFinDue                              // the end of our stream is due to be sent
	fFinSent                             // it was sent
	fFinReceived                         // the peer sent the end of its stream
	fWindowLimited                       // the congestion window held data back in this round
	fAvoidance                           // startup is over: congestion avoidance
	fKeepAliveSent                       // a keep-alive probe has no answer yet
	fResetDue                            // a reset is due
	fExpecting                           // the peer is expected to send an answer (Expect)
	fDelayAcks                           // acknowledgements wait for PassDone (DelayAcks)
	fRemainder                           // pieces of a segment longer than a datagram are still to be sent
	fAckDelayed                          // an acknowledgement waits in tx.delayed
)

// Init makes a flow to a peer whose last datagram came at now. The flow keeps cfg, src and sink. It reads the fields of
// cfg about the peer now.
func (f *Flow) Init(cfg *Config, src Source, sink Sink, now int64) {
	*f = Flow{ConnID: f.ConnID, cfg: cfg, src: src, sink: sink, receivedAt: now, sndEdge: uint64(cfg.PeerWindow)}
	f.peerMaxDatagram = uint16(min(cfg.PeerMaxDatagram, 65535))
	f.SetMaxDatagram(cfg.MaxDatagram)
	f.cwnd = f.initialWindow()
	if cfg.KeepAlive > 0 {
		f.keepAliveAt = now + cfg.KeepAlive
	}
}

// SetMaxDatagram sets the size of the largest datagram, in bytes, header included, after the route or the interface
// has changed. Segments in flight that are lost are sent again in datagrams of the new size. A larger size than
// before ends what was learnt of the path MTU: the flow begins with the full size again.
func (f *Flow) SetMaxDatagram(n int) {
	most := uint16(max(min(n, int(f.peerMaxDatagram))-wire.XHeaderLen, 64))
	if most > f.maxPayload {
		f.becomeLongest(most)
	}
	// A payload reduced by a black hole stays so: a router's message may be about another link.
	f.maxPayload, f.payload = most, min(f.payload, uint32(most))
}

// AddRTT gives the flow a round trip that the owner measured, such as the handshake's, in nanoseconds. The flow
// then need not begin with rtoFirst.
func (f *Flow) AddRTT(now, rtt int64) { f.path.addRTT(now, rtt) }

// Idle reports that nothing is in flight, held, due or ready. The owner may then drop the flow without loss.
func (f *Flow) Idle() bool {
	const due = fAckNow | fProbe | fFinDue | fResetDue
	return f.sndUna == f.sndNxt && !f.holes() && f.flags&due == 0 && f.unacked == 0 && f.src.Ready() == 0
}

// Dead returns why the flow has ended: ErrTimeout, ErrReset or ErrClosed, or the error given to Abort. It is nil
// before. A dead flow has given back its memory and does nothing more, except that an aborted flow still sends its
// reset.
func (f *Flow) Dead() error { return f.dead }

// Close ends the stream behind the bytes that the source has now. The peer gets the end of the stream after all of
// them have arrived. Done reports when that was sent.
func (f *Flow) Close(now int64) {
	if f.dead != nil || f.flags&fClosing != 0 {
		return
	}
	// The source may have nothing left once the delayed acknowledgement is processed.
	f.takeDelayedAck()
	f.flags |= fClosing
	f.finish()
}

// Done reports that a closed flow has sent the end of its stream, or that the flow is dead.
func (f *Flow) Done() bool { return f.dead != nil || f.flags&fFinSent != 0 }

// finish makes the end of the stream due once everything before it is acknowledged. The end is sent once and not
// repeated: it only spares the peer its time-out.
func (f *Flow) finish() {
	if f.flags&(fClosing|fFinSent) == fClosing && f.sndUna == f.sndNxt && f.src.Ready() == 0 {
		f.flags |= fFinDue
	}
}

// Abort ends the flow at once. Dead returns err from then on, and the next Poll returns a reset for the peer.
func (f *Flow) Abort(err error) {
	if f.dead == nil {
		f.end(err)
		f.flags |= fResetDue
	}
}

// end makes the flow dead and gives its memory back.
func (f *Flow) end(err error) {
	f.dead = err
	f.release()
	f.lossAt, f.rackAt, f.ackAt, f.paceAt, f.keepAliveAt, f.lingerAt = 0, 0, 0, 0, 0, 0
	f.flags, f.unacked = 0, 0
}

// release gives both halves' memory back to the pool.
func (f *Flow) release() {
	if f.rx != nil {
		f.rx.releaseAll(f.cfg.Pool)
		f.cfg.Pool.putReceiver(f.rx)
		f.rx = nil
	}
	if f.tx != nil {
		f.cfg.Pool.putSender(f.tx)
		f.tx = nil
	}
}

// senderState returns the transmitting half and takes one from the pool if there is none.
func (f *Flow) senderState(now int64) *sender {
	if f.tx == nil {
		f.tx = f.cfg.Pool.sender()
		f.tx.reset()
		f.armLinger(now)
	}
	return f.tx
}

// armLinger sets the time at which memory goes back if the flow is idle then.
func (f *Flow) armLinger(now int64) {
	if f.lingerAt == 0 {
		f.lingerAt = now + f.cfg.linger()
	}
}

// DelayAcks says whether this peer has sent more than others that send to the same endpoint. If on,
// acknowledgements of data in order wait for PassDone or ackDelayMax even if the peer asks for one. The peer's
// window then fills, and the others get their share.
func (f *Flow) DelayAcks(on bool) {
	f.flags &^= fDelayAcks
	if on {
		f.flags |= fDelayAcks
	}
}

// PassDone says that the application had the chance to answer what was delivered. An acknowledgement that waited to
// travel with an answer leaves with the next Poll, and one received that was delayed is processed.
func (f *Flow) PassDone(now int64) {
	f.takeDelayedAck()
	if f.unacked > 0 {
		f.flags |= fAckNow
	}
}

// Resume says that the sink takes bytes again. The flow delivers what it holds and opens its window.
func (f *Flow) Resume(now int64) {
	if f.dead != nil || f.flags&fStalled == 0 || f.sink.Stalled() {
		return
	}
	f.flags &^= fStalled
	f.flags |= fAckNow
	f.deliverHeld()
}

// Expect says whether the peer has to send something of its own accord, such as the answer to a read. With nothing
// in flight no acknowledgement would be missing if it died. Therefore the peer is probed while owed is true, as
// idle peers are with KeepAlive, and given up after PeerTimeout of silence.
func (f *Flow) Expect(now int64, owed bool) {
	if f.dead != nil || owed == (f.flags&fExpecting != 0) {
		return
	}
	f.takeDelayedAck()
	f.flags ^= fExpecting
	if !owed || f.cfg.PeerTimeout <= 0 {
		return
	}
	if f.sndUna == f.sndNxt {
		f.awaitingSince = now
	}
	// An earlier deadline than the keep-alive's, but never a later one.
	if at := now + f.keepAliveInterval(); f.keepAliveAt == 0 || at < f.keepAliveAt {
		f.keepAliveAt = at
	}
}

// ExcludeAbsence says that the process did not serve the flow's deadlines for absent nanoseconds before now,
// because it was stopped or had no core. The peer could not answer probes that were not sent, so this time does not
// count as its silence.
func (f *Flow) ExcludeAbsence(now, absent int64) {
	f.receivedAt = min(f.receivedAt+absent, now)
	if f.awaitingSince != 0 {
		f.awaitingSince = min(f.awaitingSince+absent, now)
	}
	if s := f.tx; s != nil && s.search.sinceAt != 0 {
		s.search.sinceAt = min(s.search.sinceAt+absent, now)
	}
}

// keepAliveInterval is the time without a datagram after which the peer is probed. 0: never. A peer that owes an answer
// is probed after a quarter of PeerTimeout at the latest.
func (f *Flow) keepAliveInterval() int64 {
	d := f.cfg.KeepAlive
	if t := f.cfg.PeerTimeout / 4; f.flags&fExpecting != 0 && t > 0 && (d <= 0 || t < d) {
		d = t
	}
	return d
}

// Deadline returns when Advance must be called next; 0: never.
func (f *Flow) Deadline() int64 {
	return int64(min(neverLast(f.lossAt), neverLast(f.rackAt), neverLast(f.ackAt),
		neverLast(f.paceAt), neverLast(f.keepAliveAt), neverLast(f.lingerAt)) + 1)
}

// neverLast maps times to numbers of the same order, but 0 (unset) to the greatest. The least of several times is
// then found without branches.
func neverLast(at int64) uint64 { return uint64(at) - 1 }

// Advance says that the time is now. It may be called at any time. The caller must call Poll afterwards.
func (f *Flow) Advance(now int64) {
	if f.dead != nil {
		return
	}
	f.takeDelayedAck()
	if f.ackAt != 0 && now >= f.ackAt {
		f.ackAt = 0
		f.flags |= fAckNow
	}
	if f.paceAt != 0 && now >= f.paceAt {
		f.paceAt = 0
	}
	// The reordering window is over: what has not arrived by now is lost.
	if f.rackAt != 0 && now >= f.rackAt {
		f.detectLosses(now)
	}
	if f.lossAt != 0 && now >= f.lossAt {
		f.onLossTimer(now)
	}
	if f.keepAliveAt != 0 && now >= f.keepAliveAt {
		f.keepAlive(now)
	}
	if f.lingerAt != 0 && now >= f.lingerAt && f.dead == nil {
		// Memory goes back only if the flow is idle; otherwise look again later.
		f.lingerAt = 0
		if f.Idle() {
			f.release()
		} else {
			f.lingerAt = now + f.cfg.linger()
		}
	}
}

// keepAlive probes a peer that has been silent for keepAliveInterval, and gives it up after PeerTimeout without an
// answer. It runs at keepAliveAt, which is not moved for every datagram: it looks here at when the last one
// arrived.
func (f *Flow) keepAlive(now int64) {
	every := f.keepAliveInterval()
	if every <= 0 {
		f.flags &^= fKeepAliveSent
		f.keepAliveAt = 0
		return
	}
	silent, limit := f.receivedAt, every+f.cfg.PeerTimeout
	if f.flags&fExpecting != 0 {
		silent, limit = max(f.receivedAt, f.awaitingSince), f.cfg.PeerTimeout
	}
	// A datagram has come since the timer was set.
	if now < silent+every {
		f.flags &^= fKeepAliveSent
		f.keepAliveAt = silent + every
		return
	}
	// No answer to the probes for the whole timeout.
	if f.cfg.PeerTimeout > 0 && f.flags&fKeepAliveSent != 0 && now >= silent+limit {
		f.end(ErrTimeout)
		return
	}
	f.flags |= fKeepAliveSent | fProbe
	f.keepAliveAt = now + max(MaxProbeInterval(f.cfg.PeerTimeout), rtoMin)
	if f.cfg.PeerTimeout == 0 {
		f.keepAliveAt = now + f.cfg.KeepAlive
	}
}

// Stats returns the counts since Init and the state of the path.
func (f *Flow) Stats() Stats {
	s := Stats{Counts: f.stats}
	s.SRTT, s.MinRTT, s.Window = f.path.srtt, f.path.minRTT, f.cwnd
	if f.tx != nil {
		s.InFlight = f.tx.inFlight
	}
	return s
}
