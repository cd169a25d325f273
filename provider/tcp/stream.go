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
	headBytes   = 512     // space behind, or instead of, a large payload: for the next header and little more
	recvRounds  = 4       // receives per event, so that one peer does not starve the others
)

// batchLimits end a batch: a message beyond them is transmitted at once.
var batchLimits = batch.Limits{Copied: 24 << 10, Lent: gatherBytes}

// buffers are the scratch buffers of one progress engine. All its streams share them under its lock.
type buffers struct {
	recv   []byte
	iov    *netx.IOV
	gather [][]byte
	mover  *mover // nil if the domain's streams cannot move

	faults      stream.Impairer    // nil without a layer fault
	patience    time.Duration      // user time-out of simulated connections
	closedStats impair.StreamStats // of simulated connections that have closed

	pausedUntil mono.Time // the end of the last pause of all streams (engine.Conn.Paused)
}

func newBuffers(prefetch int) *buffers {
	return &buffers{recv: make([]byte, prefetch), iov: netx.NewIOV(gatherMax), gather: make([][]byte, 0, gatherMax)}
}

// tcpStream is a protocol connection with the carrier of its bytes. It belongs to one progress engine, whose lock
// guards it.
//
// An accepted stream is quiet until its first message: passes do not read its socket, so that many idle peers cost
// nothing. A blocked stream waits until the carrier has room. A held one receives nothing, because its owner is
// closing.
type tcpStream struct {
	prog    *progress.Engine
	bufs    *buffers
	carrier carrier    // nil: not open yet, or closed
	memory  *shm.Rings // the carrier's abilities.memory
	conn    *engine.Conn
	h       *progress.Handle
	start   func() // called when the connect has succeeded, to send the request

	onMoved   func() // called after bytes were received or transmitted; usually nil
	held      bool   // the owner has stopped receiving
	quiet     bool   // accepted, and no whole message was received or sent: passes do not read the socket
	pausing   bool   // the connection has paused, and a timer will resume it
	lowWater  int    // SO_RCVLOWAT while quiet (socket(7)), bytes; 0 means 1
	blocked   bool   // the carrier has no room
	large     bool   // large payload is being received
	flushing  bool
	receiving bool // bytes are being received: answers leave when they are parsed

	batch batch.Stream

	move    moveState
	offered bool // the peer has made an offer
	moving  *moving

	local, peer netip.AddrPort

	metered *netx.Metered // nil: not metered, or closed

	listener *listener    // the listener that accepted it
	pending  *pendingConn // its entry there, until its request has arrived
}

// isOpen reports that the stream has a carrier.
func (s *tcpStream) isOpen() bool { return s.carrier != nil }

// setCarrier sets the stream's carrier.
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

// learnLocal reads the local address from the socket.
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
		s.h.MayBecomeStream()
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

// detach ends the registration. The carrier stays open.
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
		// Nothing was sent, so a reset loses nothing and frees the connection at once (no TIME_WAIT).
		reset = s.conn.BytesOut == 0
	}
	if s.carrier != nil {
		s.closeCarrier(reset)
	}
}

// closeCarrier closes the carrier, because the stream closes or gets another carrier.
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

// connectAnswered is called when the poller reports that a connect has succeeded or failed.
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

// setWant selects the events that the carrier reports.
func (s *tcpStream) setWant() {
	if s.h == nil {
		return
	}
	if err := s.carrier.watch(s.takes(), s.blocked); err != nil {
		s.failCall("epoll_ctl", err)
	}
}

// failCall ends the connection because a system call has failed.
func (s *tcpStream) failCall(call string, err error) {
	e, ok := err.(syscall.Errno)
	if !ok {
		s.conn.Fail(err)
		return
	}
	s.conn.Fail(&socketError{call, e})
}

// takes reports whether the stream receives now.
func (s *tcpStream) takes() bool {
	return s.conn.State() != engine.Closed && !s.conn.Stalled() && !s.held
}

// receive makes up to recvRounds receive calls.
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
		s.setWant() // the poller does not see bytes that are left in shared memory
	}
}

// receiveOnce makes one receive call. It reports whether another call may find more.
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
		s.large = false // many small messages: the next call receives more of them at once
	}
	return more
}

// pause schedules the resumption of a connection that has paused. Paused connections resume one after the other.
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

// stateChanged is called when received bytes have changed the connection's state.
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

// awaitHead is called when a quiet peer has sent bytes. The socket becomes readable only when a whole header has
// arrived, so that a peer that sends byte by byte costs no wake-up for each.
func (s *tcpStream) awaitHead() {
	if s.conn.State() == engine.Connected && s.conn.Between() {
		s.becomeActive()
		return
	}
	s.setLowWater(s.conn.Missing())
}

// setLowWater sets SO_RCVLOWAT: the poller reports the socket readable when n bytes are there (socket(7)).
func (s *tcpStream) setLowWater(n int) {
	if n != max(s.lowWater, 1) && s.isOpen() && netx.SetLowWater(s.carrier.socket(), n) == nil {
		s.lowWater = n
	}
}

// becomeActive makes passes read the socket directly, as long as there are few such sockets.
func (s *tcpStream) becomeActive() {
	if s.h != nil && s.conn.State() == engine.Connected {
		s.setLowWater(1)
		s.quiet = false
		s.h.BecomeStream()
	}
}

// posted is called after the application has posted an operation. The data leaves now, or together with later data
// before the next pass.
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

// replied is called when the engine has queued data of its own. While bytes are being received, it leaves after
// they are parsed. Otherwise, for instance a rendezvous answer of a posted receive, it leaves with the next pass.
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

// flush transmits until nothing is queued or the carrier has no room.
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

// upTo shortens first or list to n bytes.
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

// transmitFailed is called when the carrier takes no more bytes. Bytes that the peer sent before it closed, or
// before the path broke, can still be received (tcp(7): data that was acknowledged stays readable after a reset).
// They are received first.
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
	s.h.Notify() // passes may read the socket directly, so the poller need not report the end again
}

func (s *tcpStream) setBlocked(blocked bool) {
	if s.blocked != blocked {
		s.blocked = blocked
		s.setWant()
	}
}
