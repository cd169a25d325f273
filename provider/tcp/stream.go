package tcp

import (
	"net/netip"
	"syscall"
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/shm"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

const (
	gatherMax   = 64      // slices per sendmsg
	gatherBytes = 1 << 20 // bytes per sendmsg
	headBytes   = 512     // received behind, or instead of, a large payload: the next header and little more
	recvRounds  = 4       // receives per readiness, so that one peer does not starve the others
)

// batchLimits are where messages no longer wait for others.
var batchLimits = batch.Limits{Copied: 24 << 10, Lent: gatherBytes}

// buffers are the scratch buffers of one progress engine; everything on it shares them under its lock.
type buffers struct {
	recv   []byte
	iov    *netx.IOV
	gather [][]byte
	mover  *mover // of a domain whose streams can move; nil if they cannot

	faults      stream.Impairer    // nil but under a layer of faults
	patience    time.Duration      // of streams with them
	closedStats impair.StreamStats // of those that were closed

	pausedUntil mono.Time // when the pauses of all streams so far are over (engine.Conn.Paused)
}

func newBuffers(prefetch int) *buffers {
	return &buffers{recv: make([]byte, prefetch), iov: netx.NewIOV(gatherMax), gather: make([][]byte, 0, gatherMax)}
}

// tcpStream is a connection of the protocol and the carrier of its bytes. It belongs to one progress engine and is guarded by its lock.
type tcpStream struct {
	prog    *progress.Engine
	bufs    *buffers
	carrier carrier    // nil: closed, or not open yet
	memory  *shm.Rings // abilities.memory of it
	conn    *engine.Conn
	h       *progress.Handle
	start   func() // the connect was answered: send the request

	onMoved   func() // bytes were given to conn or taken from it; nil usually
	held      bool   // the owner wants nothing received
	quiet     bool   // the peer has connected, and no whole message has come from it or left to it: passes need not look at it
	pausing   bool   // the connection has paused, and a timer goes on with it
	lowWater  int    // how many bytes have to come until the poller reports them, while quiet; 0 is 1
	blocked   bool   // the carrier has no room
	large     bool   // large payload flows in
	flushing  bool
	receiving bool // bytes are being received: answers leave behind them

	batch batch.Stream

	move    moveState
	offered bool // the peer has made an offer
	moving  *moving

	local, peer netip.AddrPort

	metered *netx.Metered // nil: not, or no more

	listener *listener    // that accepted it
	pending  *pendingConn // there, until its request has come
}

// isOpen reports that the stream has a carrier.
func (s *tcpStream) isOpen() bool { return s.carrier != nil }

// setCarrier gives the stream its first carrier, or another one.
func (s *tcpStream) setCarrier(c carrier) {
	s.carrier, s.memory = c, c.can().memory
}

// acceptStream makes a stream of an accepted socket.
func acceptStream(b *buffers, fd netx.FD, peer netip.AddrPort) *tcpStream {
	s := &tcpStream{peer: peer}
	s.setCarrier(b.newCarrier(fd))
	s.learnLocal()
	return s
}

// learnLocal asks the system for the address of this end.
func (s *tcpStream) learnLocal() {
	if local, err := netx.LocalAddr(s.carrier.socket()); err == nil {
		s.local = local
	}
}

// attach registers the carrier with prog.
func (s *tcpStream) attach(prog *progress.Engine, bufs *buffers) error {
	s.prog, s.bufs = prog, bufs
	s.conn.Way = s.ends
	if bufs.mover != nil {
		s.conn.SetMover(bufs.mover)
		bufs.mover.streams[s.conn] = s
	}
	connecting := s.conn.State() == engine.Opening
	if err := s.register(connecting); err != nil {
		return err
	}
	if s.quiet = !connecting; s.quiet {
		s.h.StandAside()
	}
	s.updateDeadline()
	return nil
}

// register registers the carrier with the stream's engine.
func (s *tcpStream) register(connecting bool) error {
	h, err := s.carrier.register(s.prog, s.bufs, s, connecting)
	if err == nil {
		s.h = h
	}
	return err
}

// detach ends the registration; the carrier stays open.
func (s *tcpStream) detach() {
	if s.prog != nil { // a stream whose connect failed at once was never registered
		s.batch.Forget(s.prog.Batch(), s)
	}
	s.unregister()
}

func (s *tcpStream) unregister() {
	if s.h != nil {
		s.h.Remove()
		s.h = nil
		s.carrier.detach()
	}
}

// close closes the stream.
func (s *tcpStream) close() {
	s.detach()
	s.endMove()
	if s.bufs != nil && s.bufs.mover != nil {
		delete(s.bufs.mover.streams, s.conn)
	}
	reset := false
	if s.pending != nil {
		s.listener.pendingClosed(s)
		reset = s.conn.BytesOut == 0 // nothing was sent, so nothing has to arrive: the system need not keep the connection
	}
	if s.carrier != nil {
		s.closeCarrier(reset)
	}
}

// closeCarrier closes the carrier: the stream is closed then, or another carrier follows.
func (s *tcpStream) closeCarrier(reset bool) {
	if s.metered != nil {
		s.metered.End()
		s.metered = nil
	}
	s.carrier.close(reset)
	s.carrier, s.memory = nil, nil
}

func (s *tcpStream) updateDeadline() {
	if s.h != nil {
		s.h.SetDeadline(mono.Time(s.conn.Deadline()))
	}
}

// Ready implements progress.Source.
func (s *tcpStream) Ready(in, out bool) {
	if s.conn.State() == engine.Opening {
		if out {
			s.connectAnswered()
		}
		return
	}
	in, out = s.carrier.ready(in, out)
	if out && s.blocked {
		s.flush()
	}
	if in {
		s.receive()
	}
}

// Poll implements progress.Source.
func (s *tcpStream) Poll() {
	if s.memory != nil && !s.blocked && s.memory.Empty() {
		return
	}
	if s.conn.State() == engine.Opening || !s.takes() {
		return
	}
	if s.blocked {
		s.flush()
	}
	s.receive()
}

// Direct implements progress.Director.
func (s *tcpStream) Direct(on bool) error {
	if s.isOpen() {
		s.carrier.direct(on)
	}
	return nil
}

// Expired implements progress.Source.
func (s *tcpStream) Expired(now mono.Time) {
	s.conn.Advance(int64(now))
}

// Lost implements progress.Source.
func (s *tcpStream) Lost(err error) { s.failCall("epoll_ctl", err) }

// connectAnswered is called when the poller reports that a connect has ended, well or not.
func (s *tcpStream) connectAnswered() {
	up, err := s.carrier.connected()
	if err != nil {
		s.failCall("connect", err)
		return
	}
	if !up {
		return
	}
	s.learnLocal()
	if s.bufs.mover != nil {
		s.move = moveMay
	}
	s.start()
	s.updateDeadline()
	s.setWant()
	s.flush()
}

// setWant tells the carrier what the stream waits for.
func (s *tcpStream) setWant() {
	if s.h == nil {
		return
	}
	if err := s.carrier.watch(s.takes(), s.blocked); err != nil {
		s.failCall("epoll_ctl", err)
	}
}

func (s *tcpStream) failCall(call string, err error) {
	e, ok := err.(syscall.Errno)
	if !ok {
		s.conn.Fail(err)
		return
	}
	s.conn.Fail(&socketError{call, e})
}

// takes reports whether what comes is wanted now.
func (s *tcpStream) takes() bool {
	return s.conn.State() != engine.Closed && !s.conn.Stalled() && !s.held
}

// receive receives what there is, a few calls of it.
func (s *tcpStream) receive() {
	s.receiving = true
	more := true
	for n := 0; more && n < recvRounds; n++ {
		more = s.isOpen() && s.takes() && s.receiveOnce()
	}
	s.receiving = false
	if s.onMoved != nil {
		s.onMoved()
	}
	if s.isOpen() && s.conn.HasPending() && !s.blocked {
		s.flush()
	}
	if more {
		s.setWant() // the poller does not see what is left in memory
	}
}

// receiveOnce makes one receive call and reports whether another may find something.
func (s *tcpStream) receiveOnce() bool {
	head, target := s.bufs.recv, s.conn.Target()
	if target != nil {
		s.large = true
	}
	if s.large {
		head = head[:headBytes]
	}
	n, more, errno := s.carrier.receive(target, head)
	if errno != 0 {
		if errno != syscall.EAGAIN && errno != syscall.EINTR {
			s.conn.Fail(&socketError{"recv", errno})
		}
		return false
	}
	if n == 0 {
		s.conn.Fail(engine.ErrPeerClose)
		return false
	}
	direct := min(n, len(target))
	state := s.conn.State()
	s.conn.Receive(direct, head[:n-direct])
	if s.conn.State() != state {
		s.stateChanged()
	} else if s.quiet {
		s.awaitHead()
	}
	if s.move != moveNever {
		s.advanceMove()
	}
	if !s.isOpen() {
		return false
	}
	if s.conn.Stalled() {
		s.setWant()
		return false
	}
	if direct == 0 && more && s.conn.Target() == nil {
		s.large = false // many small messages: receive more of them at once
	}
	return more
}

// pause sees to it that a connection goes on that has paused: by bytes that have come, or that waited for another reason and are looked at now.
func (s *tcpStream) pause() {
	if !s.conn.Paused() || s.pausing {
		return
	}
	s.pausing = true
	b := s.bufs
	b.pausedUntil = max(b.pausedUntil, mono.Now()).Add(engine.PauseNanos)
	s.prog.After(b.pausedUntil, func(mono.Time) {
		s.pausing = false
		s.conn.Unpause()
		s.pause()
		if s.isOpen() && s.conn.HasPending() && !s.blocked {
			s.flush()
		}
	})
}

// stateChanged is called when what was received has changed the connection's state.
func (s *tcpStream) stateChanged() {
	if s.pending != nil && s.isOpen() && s.conn.State() != engine.Listening {
		if err := s.listener.requestArrived(s); err != nil {
			s.conn.Fail(err)
			return
		}
	}
	if s.quiet {
		s.setLowWater(s.conn.Missing())
	}
	s.updateDeadline()
}

// awaitHead is called when a quiet peer has sent something. The bytes of a header are waited for together: a peer that sends them one by one costs no wake-up
// for each.
func (s *tcpStream) awaitHead() {
	if s.conn.State() == engine.Connected && s.conn.Between() {
		s.becomeActive()
		return
	}
	s.setLowWater(s.conn.Missing())
}

func (s *tcpStream) setLowWater(n int) {
	if n != max(s.lowWater, 1) && s.isOpen() && netx.SetLowWater(s.carrier.socket(), n) == nil {
		s.lowWater = n
	}
}

// becomeActive has passes look at the socket, while there are few.
func (s *tcpStream) becomeActive() {
	if s.h != nil && s.conn.State() == engine.Connected {
		s.setLowWater(1)
		s.quiet = false
		s.h.BecomeStream()
	}
}

// posted is called after something was queued by the application: it leaves now, or with what follows before the next pass.
func (s *tcpStream) posted(more bool) *batch.Stream {
	if s.quiet && s.conn.MsgsOut > 0 {
		s.becomeActive()
	}
	if s.blocked || !s.isOpen() || !s.conn.HasPending() || s.move == moveHeld {
		return nil
	}
	if s.batch.Posted(s.prog.Batch(), s, &batchLimits, s.conn.Queued(), s.conn.Lent(), more) {
		s.flush()
		s.batch.Transmitted(s.prog.Batch())
	}
	return &s.batch
}

// replied is called when the engine has queued something of its own. What received bytes bring about leaves when they are parsed; what a posted receive
// does, a request for the payload of its message, say, leaves with the next pass.
func (s *tcpStream) replied() {
	s.pause()
	if !s.receiving && !s.flushing && !s.blocked && s.isOpen() {
		s.batch.Answer(s.prog.Batch(), s)
	}
}

// Flush implements batch.Flusher.
func (s *tcpStream) Flush() {
	s.batch.Flushed()
	if s.move >= moveAsked {
		s.advanceMove()
	}
	if !s.blocked && s.isOpen() {
		s.flush()
	}
}

// flush transmits until there is nothing left or the carrier has no room.
func (s *tcpStream) flush() {
	if s.flushing || s.conn.State() == engine.Opening || s.move == moveHeld {
		return
	}
	s.flushing = true
	blocked, rest := false, true
	for s.isOpen() && !blocked {
		first, list := s.conn.Pending(s.bufs.gather, gatherBytes)
		if first == nil && list == nil {
			rest = false
			break
		}
		if s.move == moveLast {
			first, list = upTo(s.moving.last, first, list)
		}
		n, errno := s.carrier.transmit(first, list)
		clear(list)
		switch errno {
		case 0:
		case syscall.EAGAIN:
			blocked = true
			continue
		case syscall.EINTR:
			continue
		default:
			s.flushing = false
			s.transmitFailed(errno)
			return
		}
		s.conn.Transmitted(n)
		if s.move == moveLast {
			if s.moving.last -= n; s.moving.last == 0 {
				s.flushing = false
				s.becomeHeld()
				return
			}
		}
	}
	s.flushing = false
	if !s.isOpen() {
		return
	}
	s.setBlocked(blocked)
	if !rest && s.move == moveReady {
		s.advanceMove()
	}
	if s.onMoved != nil {
		s.onMoved()
	}
}

// upTo cuts what is to be sent after n bytes.
func upTo(n int, first []byte, list [][]byte) ([]byte, [][]byte) {
	if first != nil {
		return first[:min(len(first), n)], nil
	}
	for i, b := range list {
		if len(b) >= n {
			list[i] = b[:n]
			return nil, list[:i+1]
		}
		n -= len(b)
	}
	return nil, list
}

// transmitFailed is called when the carrier takes nothing any more. What the peer sent before it closed, or before the path broke, can be received still, and is
// (tcp(7): data that was acknowledged stays readable after a reset).
func (s *tcpStream) transmitFailed(errno syscall.Errno) {
	err := &socketError{"send", errno}
	switch errno {
	case syscall.EPIPE, syscall.ECONNRESET, syscall.ETIMEDOUT:
	default:
		s.conn.Fail(err)
		return
	}
	s.conn.Break(err)
	if s.h == nil {
		return
	}
	s.blocked = false
	s.setWant()
	s.h.Notify() // where passes read the socket directly, the end need not show again
}

func (s *tcpStream) setBlocked(blocked bool) {
	if s.blocked != blocked {
		s.blocked = blocked
		s.setWant()
	}
}
