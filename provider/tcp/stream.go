package tcp

import (
	"math"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/batch"
	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

const (
	gatherMax    = 64      // slices per sendmsg
	gatherBytes  = 1 << 20 // bytes per sendmsg
	headBytes    = 512     // received behind, or instead of, a large payload: the next header and little more
	largePayload = 16 << 10
	// loopbackSendBuf is the send buffer on loopback, bytes.
	loopbackSendBuf = 1 << 20
	// retransmitMin is how soon what was lost is sent again, at the least. Not less than the least that Linux' receivers keep an acknowledgement back
	// (TCP_DELACK_MIN, include/net/tcp.h), or each message that has no answer would be sent twice.
	retransmitMin = 40 * time.Millisecond
	recvRounds    = 4 // receives per readiness, so that one peer does not starve the others
)

// batchLimits are where messages no longer wait for others.
var batchLimits = batch.Limits{Copied: 24 << 10, Lent: gatherBytes}

// buffers are the scratch buffers of one progress engine; everything on it shares them under its lock.
type buffers struct {
	recv   []byte
	iov    *netx.IOV
	gather [][]byte
	lobby  *lobby // of a domain whose streams can move; nil if they cannot

	faults   stream.Impairer    // nil but under a layer of faults
	patience time.Duration      // of streams with them
	gone     impair.StreamStats // of those that were closed

	pardon mono.Time // when the pauses of all streams so far are over (engine.Conn.Paused)
}

func newBuffers(prefetch int) *buffers {
	return &buffers{recv: make([]byte, prefetch), iov: netx.NewIOV(gatherMax), gather: make([][]byte, 0, gatherMax)}
}

// tcpStream is a socket and the protocol's side of it. It belongs to one progress engine and is guarded by its lock.
type tcpStream struct {
	prog *progress.Engine
	bufs *buffers
	fd   netx.FD
	conn *engine.Conn
	h    *progress.Handle
	open func() // the transport is up: send the request

	carried func() // bytes were given to conn or taken from it; nil usually
	held    bool   // the owner wants nothing received
	moved   bool   // fd is a local socket, no TCP one (local.go)
	unheard bool   // the peer has connected, and neither has it sent a whole message nor was one sent to it: passes need not look at it
	pausing bool   // the connection has paused, and a timer goes on with it
	water   int    // how many bytes have to come until the poller tells of them, while unheard; 0 is 1

	batch     batch.Stream
	blocked   bool // the socket takes no more
	large     bool // large payload flows in
	flushing  bool
	receiving bool // bytes are being taken: answers leave behind them

	move   moveState
	asked  bool // the peer made an offer
	moving *moving

	pipe       *pipe       // the bytes' way, if it is not the socket
	impairment *impairment // nil but under a layer of faults

	local, peer netip.AddrPort

	metered *netx.Metered // while it is TCP

	door *listener // that accepted it
	met  *stranger // there, until its request has come
}

// attach registers the socket with prog.
func (s *tcpStream) attach(prog *progress.Engine, bufs *buffers, want netx.Events) error {
	s.prog, s.bufs = prog, bufs
	s.conn.Way = s.ends
	if s.conn.State() != engine.Opening { // else when the transport is up
		if local, err := netx.LocalAddr(s.fd); err == nil {
			s.local = local
		}
	}
	if bufs.lobby != nil {
		s.conn.SetMover(bufs.lobby)
		bufs.lobby.streams[s.conn] = s
	}
	s.unheard = s.conn.State() != engine.Opening
	h, err := prog.Register(s.fd, s, !s.unheard, want)
	if err != nil {
		return err
	}
	s.h = h
	if s.unheard {
		h.StandAside()
	}
	if bufs.faults != nil {
		s.raise()
	}
	s.updateDeadline()
	return nil
}

// detach ends the registration; the socket stays open.
func (s *tcpStream) detach() {
	s.batch.Forget(s.prog.Batch(), s)
	if s.h != nil {
		s.h.Remove()
		s.h = nil
	}
	if s.impairment != nil {
		s.impairment.lower()
	}
}

// close closes the socket.
func (s *tcpStream) close() {
	s.detach()
	s.stay()
	if s.bufs != nil && s.bufs.lobby != nil {
		delete(s.bufs.lobby.streams, s.conn)
		s.bufs.lobby.closePipe(s.pipe)
		s.pipe = nil
	}
	if s.met != nil {
		s.door.left(s)
	}
	if s.fd != netx.NoFD {
		s.closeTCP()
		s.fd = netx.NoFD
		if s.impairment != nil {
			s.bufs.gone.Add(s.impairment.w.Stats())
		}
	}
}

func (s *tcpStream) updateDeadline() {
	if s.h != nil {
		s.h.SetDeadline(mono.Time(s.conn.Deadline()))
	}
}

// Ready implements progress.Source.
func (s *tcpStream) Ready(in, out bool) {
	if s.conn.State() == engine.Opening {
		if out && (s.impairment == nil || s.impairment.answered()) {
			s.transportUp()
		}
		return
	}
	if s.pipe != nil && in {
		s.heed()
		out = true // a bell may be for either
	}
	if out && s.blocked {
		s.flush()
	}
	if in {
		s.receive()
	}
}

// Poll implements progress.Source.
func (s *tcpStream) Poll() {
	if l := s.pipe; l != nil && !s.blocked && l.Idle() {
		return // the peer's end shows on the socket
	}
	if s.conn.State() == engine.Opening || !s.takes() {
		return
	}
	if s.blocked {
		s.flush()
	}
	s.receive()
}

// Expired implements progress.Source.
func (s *tcpStream) Expired(now mono.Time) {
	s.conn.Advance(int64(now))
}

// Lost implements progress.Source.
func (s *tcpStream) Lost(err error) { s.failCall("epoll_ctl", err) }

// transportUp is called when a connect has ended, well or not.
func (s *tcpStream) transportUp() {
	if err := netx.SocketError(s.fd); err != nil {
		s.failCall("connect", err)
		return
	}
	if local, err := netx.LocalAddr(s.fd); err == nil {
		s.local = local
	}
	s.mayMove()
	s.open()
	s.updateDeadline()
	s.setWant()
	s.flush()
}

// setWant tells the poller what to look for.
func (s *tcpStream) setWant() {
	if s.h == nil {
		return
	}
	var want netx.Events
	if s.takes() {
		want |= netx.In
	}
	if h := s.impairment; h != nil {
		if h.takeAt != 0 {
			want |= netx.Edge // what comes is to be noted, no more
		}
		h.setTimer()
	}
	if s.pipe != nil {
		if s.blocked && !s.pipe.over {
			want |= netx.In // the bell
		}
	} else if h := s.impairment; s.blocked && (h == nil || h.sendAt == 0) {
		want |= netx.Out
	}
	if want == 0 {
		want = netx.Edge // a hang-up is reported all the same, but we cannot read it away now: once is enough
	}
	if err := s.h.Want(want); err != nil {
		s.failCall("epoll_ctl", err)
		return
	}
	s.settle()
}

func (s *tcpStream) failCall(call string, err error) {
	e, ok := err.(unix.Errno)
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

// receive takes what the socket has, a few rounds of it.
func (s *tcpStream) receive() {
	s.receiving = true
	for range recvRounds {
		if s.fd == netx.NoFD || !s.takes() {
			break
		}
		more := s.receiveOnce()
		if !more {
			break
		}
	}
	s.receiving = false
	if s.carried != nil {
		s.carried()
	}
	if s.fd != netx.NoFD && s.conn.HasPending() && !s.blocked {
		s.flush()
	}
	s.settle()
}

// receiveOnce makes one receive call and reports whether another may find something.
func (s *tcpStream) receiveOnce() bool {
	if s.impairment != nil {
		limit := s.impairment.mayTake()
		return limit > 0 && s.receiveUpTo(limit)
	}
	return s.receiveUpTo(math.MaxInt)
}

// receiveUpTo is receiveOnce for limit bytes at most.
func (s *tcpStream) receiveUpTo(limit int) bool {
	var asked, direct int
	head, target := s.bufs.recv, s.conn.Target()
	if target != nil {
		s.large = true
		target = target[:min(len(target), limit)]
		head = head[:min(headBytes, limit-len(target))]
	} else {
		if s.large {
			head = head[:headBytes]
		}
		head = head[:min(len(head), limit)]
	}
	n, errno := s.takeIn(target, head)
	direct, asked = min(n, len(target)), len(target)+len(head)
	if errno != 0 {
		if errno != unix.EAGAIN && errno != unix.EINTR {
			s.conn.Fail(&socketError{"recv", errno})
		}
		return false
	}
	if n == 0 {
		s.conn.Fail(engine.ErrPeerClose)
		return false
	}
	if s.impairment != nil {
		s.impairment.w.Took(n)
	}
	state := s.conn.State()
	s.conn.Receive(direct, head[:n-direct])
	if s.conn.State() != state {
		s.turned()
	} else if s.unheard {
		s.listen()
	}
	if s.move != moveNever {
		s.turn()
	}
	if s.fd == netx.NoFD {
		return false
	}
	if s.conn.Stalled() {
		s.setWant()
		return false
	}
	if direct == 0 && n == asked && s.conn.Target() == nil {
		s.large = false // many small messages: take more of them at once
	}
	return n == asked
}

// pause sees to it that a connection goes on that has paused: by bytes that have come, or that waited for another reason and are looked at now.
func (s *tcpStream) pause() {
	if !s.conn.Paused() || s.pausing {
		return
	}
	s.pausing = true
	b := s.bufs
	b.pardon = max(b.pardon, mono.Now()).Add(engine.PauseNanos)
	s.prog.After(b.pardon, func(mono.Time) {
		s.pausing = false
		s.conn.Unpause()
		s.pause()
		if s.fd != netx.NoFD && s.conn.HasPending() && !s.blocked {
			s.flush()
		}
	})
}

// turned is called when what was received has brought the connection into another state.
func (s *tcpStream) turned() {
	if s.met != nil && s.fd != netx.NoFD && s.conn.State() != engine.Listening {
		if err := s.door.greeted(s); err != nil {
			s.conn.Fail(err)
			return
		}
	}
	if s.unheard {
		s.setWater(s.conn.Missing())
	}
	s.updateDeadline()
}

// listen is called when an unheard peer has sent something. Who dribbles costs no wake-up for each byte: that of a head are waited for together.
func (s *tcpStream) listen() {
	if s.conn.State() == engine.Connected && s.conn.Between() {
		s.becomeHeard()
		return
	}
	s.setWater(s.conn.Missing())
}

func (s *tcpStream) setWater(n int) {
	if n != max(s.water, 1) && s.fd != netx.NoFD && netx.SetLowWater(s.fd, n) == nil {
		s.water = n
	}
}

// becomeHeard has passes look at the socket, while there are few.
func (s *tcpStream) becomeHeard() {
	if s.h != nil && s.conn.State() == engine.Connected {
		s.setWater(1)
		s.unheard = false
		s.h.BecomeStream()
	}
}

// posted is called after something was queued by the application: it leaves now, or with what follows before the next pass.
func (s *tcpStream) posted(more bool) *batch.Stream {
	if s.unheard && s.conn.MsgsOut > 0 {
		s.becomeHeard()
	}
	if s.blocked || s.fd == netx.NoFD || !s.conn.HasPending() || s.move == moveHeld {
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
	if !s.receiving && !s.flushing && !s.blocked && s.fd != netx.NoFD {
		s.batch.Answer(s.prog.Batch(), s)
	}
}

// Flush implements batch.Flusher.
func (s *tcpStream) Flush() {
	s.batch.Flushed()
	if s.move >= moveAsked {
		s.turn()
	}
	if !s.blocked && s.fd != netx.NoFD {
		s.flush()
	}
}

// flush transmits until there is nothing left or the socket is full.
func (s *tcpStream) flush() {
	if s.flushing || s.conn.State() == engine.Opening || s.move == moveHeld {
		return
	}
	if s.impairment != nil && !s.impairment.maySend() {
		return
	}
	s.flushing = true
	blocked := false
	for s.fd != netx.NoFD {
		first, list := s.conn.Pending(s.bufs.gather, gatherBytes)
		if s.move == moveLast {
			first, list = upTo(s.moving.last, first, list)
		}
		if s.impairment != nil {
			first, list = s.impairment.cut(first, list)
		}
		if first == nil && list == nil {
			s.flushing = false
			s.wake()
			s.becomeBlocked(false)
			if s.move == moveReady {
				s.turn()
			}
			if s.carried != nil {
				s.carried()
			}
			return
		}
		n, errno := s.transmit(first, list)
		clear(list)
		if errno == unix.EAGAIN {
			blocked = true
			break
		}
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			s.flushing = false
			s.becomeMute(errno)
			return
		}
		s.conn.Transmitted(n)
		if s.impairment != nil && s.impairment.paused() {
			blocked = true
			break
		}
		if s.move == moveLast {
			if s.moving.last -= n; s.moving.last == 0 {
				s.flushing = false
				s.becomeHeld()
				return
			}
		}
	}
	s.flushing = false
	if s.fd != netx.NoFD {
		s.wake()
		s.becomeBlocked(blocked)
		if s.carried != nil {
			s.carried()
		}
	}
}

// becomeMute is called when the socket takes nothing any more. What the peer sent before it closed, or before the path broke, is in the socket still and is
// received first (tcp(7): data that was acknowledged stays readable after a reset).
func (s *tcpStream) becomeMute(errno unix.Errno) {
	err := &socketError{"send", errno}
	switch errno {
	case unix.EPIPE, unix.ECONNRESET, unix.ETIMEDOUT:
	default:
		s.conn.Fail(err)
		return
	}
	s.conn.Break(err)
	if s.fd == netx.NoFD || s.h == nil {
		return
	}
	s.blocked = false
	s.setWant()
	s.h.Notify() // the end need not show again where passes read the socket directly
}

func (s *tcpStream) becomeBlocked(blocked bool) {
	if s.blocked != blocked || s.impairment != nil {
		s.blocked = blocked
		s.setWant()
	}
}

// configure sets the options that every connection has: an idle or unacknowledging peer must be noticed (keep-alive for the former, the user
// time-out for the latter, tcp(7)).
func configure(fd netx.FD, p *settings, tclass int, local, peer netip.Addr) error {
	if peer.IsLoopback() || local.IsLoopback() {
		// Nothing between two ends on one host can be congested. What looks for it only costs: BBR arms a timer for each segment.
		netx.SetCongestion(fd, "reno")
		// What waits in the socket should still be in the processors' cache when the peer takes it; the system would let several times as much gather.
		netx.SetBuffers(fd, loopbackSendBuf, 0)
		// Both are favours of the system's: without them things work as well, if slower.
	} else {
		netx.SetRetransmitMin(fd, retransmitMin) // such a favour, too
	}
	if p.noDelay {
		if err := netx.SetNoDelay(fd, true); err != nil {
			return err
		}
	}
	if t := p.peerTimeout; t > 0 {
		if err := netx.SetKeepAlive(fd, t/2, max(t/8, 1), 4); err != nil {
			return err
		}
		if err := netx.SetUserTimeout(fd, t); err != nil {
			return err
		}
	}
	if tclass != 0 {
		if err := netx.SetDSCP(fd, tclass); err != nil {
			return err
		}
	}
	return nil
}
