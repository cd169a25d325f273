package flow

import "gofabric/util/rxd/wire"

// Flow is the stream to one peer and back. Its zero value is not usable: call Init. It is not safe for concurrent use.
type Flow struct {
	// ConnID goes into every datagram: the peer's name for the flow. The owner may change it.
	ConnID uint64

	cfg  *Config
	src  Source
	sink Sink
	tx   *sender   // nil when nothing was sent for a while
	rx   *receiver // nil when nothing is held
	dead error

	// Transmitting. una <= nxt; what is between is in tx.
	una, nxt uint64
	edge     uint64 // the peer takes bytes before it
	cwnd     int    // bytes that may be in flight
	path     path

	// Receiving.
	rcvNxt  uint64
	finAt   uint64 // where the peer's stream ends, with fFinSeen
	unacked uint32 // bytes delivered since the last acknowledgement
	echo    uint32 // Time of the datagram to echo, 0 none
	winTime uint32 // Time of the datagram that the edge comes from
	payload uint32 // most bytes in a datagram that we send
	echoAt  int64  // when it came

	// Times, 0 unset.
	heardAt int64 // last datagram from the peer
	sinceAt int64 // since when something is wanted from the peer
	lossAt  int64 // probe or retransmission time-out, persist
	rackAt  int64 // reordering time-out
	ackAt   int64 // delayed acknowledgement
	paceAt  int64 // transmission may go on
	paceTo  int64 // when the path has taken what was sent
	liveAt  int64 // keep-alive
	idleAt  int64 // memory goes back to the pool

	flags    flowFlags
	backoff  uint8
	probes   uint8  // tail loss probes since the last progress
	peerMost uint16 // bytes of the largest datagram that the peer receives
	full     uint16 // most bytes of payload, as far as the owner knows
	stats    Counts
	pathMTU  pathMTU
}

// flowFlags are what a flow has to do, or remembers, in one bit each.
type flowFlags uint32

const (
	fAckNow  flowFlags = 1 << iota // an acknowledgement is due
	fProbe                         // a probe is due
	fTail                          // a tail loss probe is due
	fHead                          // a retransmission of the first segment is due
	fStalled                       // the sink stalled: our window is 0
	fClosing                       // Close was called
	fFinDue                        // the end of the stream is to be told
	fFinSent                       // it was told
	fFinSeen                       // the peer's was heard
	fLimited                       // the window held back what there was to send
	fSteady                        // startup is over
	fWaiting                       // a keep-alive waits for its answer
	fReset                         // a reset is due
	fOwed                          // the peer is expected to send something
	fAhead                         // the peer has sent more than others
	fRest                          // of a segment longer than datagrams, the rest is to follow
	fLate                          // an acknowledgement was put off
)

// Init makes a flow. cfg is kept, but its fields about the peer are read now.
func (f *Flow) Init(cfg *Config, src Source, sink Sink, now int64) {
	*f = Flow{ConnID: f.ConnID, cfg: cfg, src: src, sink: sink, heardAt: now, edge: uint64(cfg.PeerWindow)}
	f.peerMost = uint16(min(cfg.PeerMaxDatagram, 65535))
	f.SetMaxDatagram(cfg.MaxDatagram)
	f.cwnd = f.firstWindow()
	if cfg.KeepAlive > 0 {
		f.liveAt = now + cfg.KeepAlive
	}
}

// SetMaxDatagram sets the size of the largest datagram from now on, bytes, header included: the path changed. What is
// lost of what is in flight is sent again in datagrams of the new size. A larger size than before
// makes it begin anew.
func (f *Flow) SetMaxDatagram(n int) {
	most := uint16(max(min(n, int(f.peerMost))-wire.XHeaderLen, 64))
	if most > f.full {
		f.becomeFull(most)
	}
	f.full, f.payload = most, min(f.payload, uint32(most)) // what is known to be lost stays so where a router tells of another narrow place
}

// Measured tells a round trip that the owner saw, as of the handshake, nanoseconds, so that the flow begins with it.
func (f *Flow) Measured(now, rtt int64) { f.path.sample(now, rtt) }

// Idle reports that nothing is in flight, held, due or ready: a flow that may be forgotten, as far as it is concerned.
func (f *Flow) Idle() bool {
	return f.una == f.nxt && (f.rx == nil || len(f.rx.spans) == 0) && f.flags&(fAckNow|fProbe|fFinDue|fReset) == 0 && f.unacked == 0 && f.src.Ready() == 0
}

// Dead tells why the flow has ended: ErrTimeout, ErrReset or ErrClosed; nil while it lives. A dead flow has given its memory back, and does nothing more.
func (f *Flow) Dead() error { return f.dead }

// Close tells the peer that nothing follows what the source has now, after that has arrived. Done reports when.
func (f *Flow) Close(now int64) {
	if f.dead != nil || f.flags&fClosing != 0 {
		return
	}
	f.settle()
	f.flags |= fClosing
	f.finish()
}

// Done reports that a closed flow has told the peer all there was, or died.
func (f *Flow) Done() bool { return f.dead != nil || f.flags&fFinSent != 0 }

// finish makes the end of the stream due when all before it has arrived.
func (f *Flow) finish() {
	if f.flags&(fClosing|fFinSent) == fClosing && f.una == f.nxt && f.src.Ready() == 0 {
		f.flags |= fFinDue
	}
}

// Abort ends the flow at once; the next Poll brings a reset for the peer. Dead returns err from then on.
func (f *Flow) Abort(err error) {
	if f.dead == nil {
		f.die(err)
		f.flags |= fReset
	}
}

// die ends the flow.
func (f *Flow) die(err error) {
	f.dead = err
	f.release()
	f.lossAt, f.rackAt, f.ackAt, f.paceAt, f.liveAt, f.idleAt = 0, 0, 0, 0, 0, 0
	f.flags, f.unacked = 0, 0
}

// release gives all memory back.
func (f *Flow) release() {
	if f.rx != nil {
		f.rx.drop(f.cfg.Pool)
		f.cfg.Pool.putReceiver(f.rx)
		f.rx = nil
	}
	if f.tx != nil {
		f.cfg.Pool.putSender(f.tx)
		f.tx = nil
	}
}

// sending returns the transmitting half.
func (f *Flow) sending(now int64) *sender {
	if f.tx == nil {
		f.tx = f.cfg.Pool.sender()
		f.tx.reset()
		f.borrowed(now)
	}
	return f.tx
}

// borrowed sees to it that memory goes back when the flow is idle.
func (f *Flow) borrowed(now int64) {
	if f.idleAt == 0 {
		f.idleAt = now + f.cfg.linger()
	}
}

// Ahead says whether the peer has sent more than others to the same receiver: then what says that its datagrams have arrived waits for Quiet, or ackDelayMax.
func (f *Flow) Ahead(on bool) {
	f.flags &^= fAhead
	if on {
		f.flags |= fAhead
	}
}

// Quiet tells that the application had its chance to answer what was delivered: an acknowledgement that waited for company leaves with the next Poll.
func (f *Flow) Quiet(now int64) {
	f.settle()
	if f.unacked > 0 {
		f.flags |= fAckNow
	}
}

// Resume tells that the sink takes bytes again.
func (f *Flow) Resume(now int64) {
	if f.dead != nil || f.flags&fStalled == 0 || f.sink.Stalled() {
		return
	}
	f.flags &^= fStalled
	f.flags |= fAckNow
	f.drain()
}

// Expect says whether the peer has to send something of its own accord, such as an answer: nothing in flight tells then that it is gone. While it does, it is
// asked whether it is there, as idle peers are with KeepAlive, and given up after PeerTimeout of silence.
func (f *Flow) Expect(now int64, owed bool) {
	if f.dead != nil || owed == (f.flags&fOwed != 0) {
		return
	}
	f.settle()
	f.flags ^= fOwed
	if !owed || f.cfg.PeerTimeout <= 0 {
		return
	}
	if f.una == f.nxt {
		f.sinceAt = now
	}
	if at := now + f.askAfter(); f.liveAt == 0 || at < f.liveAt {
		f.liveAt = at
	}
}

// Excuse tells that nobody was there to serve the flow's deadlines for so many nanoseconds before now: the peer's silence meanwhile says nothing.
func (f *Flow) Excuse(now, absent int64) {
	f.heardAt = min(f.heardAt+absent, now)
	if f.sinceAt != 0 {
		f.sinceAt = min(f.sinceAt+absent, now)
	}
	if s := f.tx; s != nil && s.search.sinceAt != 0 {
		s.search.sinceAt = min(s.search.sinceAt+absent, now)
	}
}

// askAfter is after what silence the peer is asked whether it is there, 0 never.
func (f *Flow) askAfter() int64 {
	d := f.cfg.KeepAlive
	if t := f.cfg.PeerTimeout / 4; f.flags&fOwed != 0 && t > 0 && (d <= 0 || t < d) {
		d = t
	}
	return d
}

// Deadline is when Advance must be called next, 0 never.
func (f *Flow) Deadline() int64 {
	return int64(min(later(f.lossAt), later(f.rackAt), later(f.ackAt), later(f.paceAt), later(f.liveAt), later(f.idleAt)) + 1)
}

// later maps times to numbers in the same order, but for 0, never, which becomes the last: the least is found without branches.
func later(at int64) uint64 { return uint64(at) - 1 }

// Advance tells the time; Poll must follow.
func (f *Flow) Advance(now int64) {
	if f.dead != nil {
		return
	}
	f.settle()
	if f.ackAt != 0 && now >= f.ackAt {
		f.ackAt = 0
		f.flags |= fAckNow
	}
	if f.paceAt != 0 && now >= f.paceAt {
		f.paceAt = 0
	}
	if f.rackAt != 0 && now >= f.rackAt {
		f.detect(now)
	}
	if f.lossAt != 0 && now >= f.lossAt {
		f.timeout(now)
	}
	if f.liveAt != 0 && now >= f.liveAt {
		f.keepAlive(now)
	}
	if f.idleAt != 0 && now >= f.idleAt && f.dead == nil {
		f.idleAt = 0
		if f.Idle() {
			f.release()
		} else {
			f.idleAt = now + f.cfg.linger()
		}
	}
}

// keepAlive asks a peer that is silent whether it is there.
func (f *Flow) keepAlive(now int64) {
	every := f.askAfter()
	if every <= 0 {
		f.flags &^= fWaiting
		f.liveAt = 0
		return
	}
	silent, limit := f.heardAt, every+f.cfg.PeerTimeout
	if f.flags&fOwed != 0 {
		silent, limit = max(f.heardAt, f.sinceAt), f.cfg.PeerTimeout
	}
	if now < silent+every {
		f.flags &^= fWaiting
		f.liveAt = silent + every
		return
	}
	if f.cfg.PeerTimeout > 0 && f.flags&fWaiting != 0 && now >= silent+limit {
		f.die(ErrTimeout)
		return
	}
	f.flags |= fWaiting | fProbe
	f.liveAt = now + max(Seldom(f.cfg.PeerTimeout), rtoMin)
	if f.cfg.PeerTimeout == 0 {
		f.liveAt = now + f.cfg.KeepAlive
	}
}

// Stats returns counts since Init, and what is known of the path.
func (f *Flow) Stats() Stats {
	s := Stats{Counts: f.stats}
	s.SRTT, s.MinRTT, s.Window = f.path.srtt, f.path.base, f.cwnd
	if f.tx != nil {
		s.InFlight = f.tx.inFlight
	}
	return s
}
