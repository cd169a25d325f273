package tcp

import (
	"crypto/rand"
	"encoding/hex"
	"syscall"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/trust"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Moves: a stream between processes of one host goes over from TCP to another carrier, a local socket or shared
// memory. The bytes continue where they stopped, and neither the connection nor the application is affected.
//
//	the end that connected                      the end that accepted
//	offer (name of a socket, token)    ->
//	                                            connects there, sends the token, passes memory
//	                                   <-       moved: its last message over TCP
//	finds the connection by the token
//	moved: its last message over TCP   ->
//	continues there                             continues there
//
// If an end cannot connect, since it is in another network namespace, it does not answer the offer. The stream then
// stays on TCP.

const (
	moveAfter    = 32 // messages in both directions before an offer: streams with fewer stay on TCP
	uninvitedMax = 64 // largest number of local connections that have not sent their token

	// If the peer has connected, but could not be accepted for lack of descriptors, the end tries again every
	// retryMovePause, up to retryMoveMax times.
	retryMovePause = 10e6 // ns
	retryMoveMax   = 1000
)

// moveState is the state of a stream's move.
type moveState uint8

const (
	moveNever   moveState = iota // it stays on its carrier, or has moved
	moveMay                      // it makes an offer after moveAfter messages
	moveOffered                  // it has made an offer
	moveAsked                    // it has received an offer
	moveReady                    // the next carrier is there; the message "moved" follows when no other data is queued
	moveLast                     // "moved", the last message over TCP, is being transmitted
	moveHeld                     // "moved" has left; nothing else is transmitted before the peer's has arrived
)

// moving is the state of a stream while it moves.
type moving struct {
	offer   wire.Offer     // the offer made or received
	next    *samehost.Conn // the next carrier's connection; nil until it is there
	memory  bool           // the next carrier is shared memory: the end that connects decides
	last    int            // bytes that remain until the end of "moved"
	told    bool           // the peer's "moved" has arrived
	retries int            // failed accepts
}

// mover moves a domain's streams. The domain's lock guards it.
type mover struct {
	listener *samehost.Listener // nil until the first offer
	name     [wire.NameLen]byte // of the listener's socket
	offers   map[[wire.NameLen]byte]*tcpStream
	streams  map[*engine.Conn]*tcpStream // of the domain
	share    bool                        // memory may be shared (FI_TCP_LOCAL_MEMORY)
	memories int                         // shared memories in use
}

func newMover(share bool) *mover {
	return &mover{share: share, offers: map[[wire.NameLen]byte]*tcpStream{}, streams: map[*engine.Conn]*tcpStream{}}
}

// socketName returns the name of the local socket of an offer.
func socketName(name [wire.NameLen]byte) string {
	return samehost.Name("tcp", hex.EncodeToString(name[:]))
}

// listen opens the listener, if there is none. It reports whether peers can connect.
func (m *mover) listen() bool {
	if m.listener != nil {
		return true
	}
	rand.Read(m.name[:]) // never fails (crypto/rand)
	l, err := samehost.Listen(samehost.Config{Use: trust.Stream, Name: socketName(m.name), BodyLen: wire.NameLen, Memory: m.share, MaxPending: uninvitedMax, Greeted: m.greeted})
	if err != nil {
		return false
	}
	m.listener = l
	return true
}

func (m *mover) close() {
	if m.listener != nil {
		m.listener.Close()
	}
}

// mayShare reports whether another memory may be shared.
func (m *mover) mayShare() bool { return m.share && m.memories < shmCarriersMax }

// offer prepares an offer for s. It reports whether peers can connect.
func (m *mover) offer(s *tcpStream) bool {
	if !m.listen() {
		return false
	}
	o := wire.Offer{Name: m.name, Memory: m.mayShare()}
	rand.Read(o.Token[:])
	m.offers[o.Token] = s
	s.moving = &moving{offer: o}
	return m.listener.Expect(len(m.offers))
}

// withdraw cancels the offer of s.
func (m *mover) withdraw(s *tcpStream) {
	if token := s.moving.offer.Token; m.offers[token] == s {
		delete(m.offers, token)
		m.listener.Expect(len(m.offers))
	}
}

// greeted assigns a local connection to the stream with its token.
func (m *mover) greeted(c *samehost.Conn, token []byte) {
	s := m.offers[[wire.NameLen]byte(token)]
	if s == nil {
		c.Close() // it was not asked to come, or comes too late
		return
	}
	m.withdraw(s)
	if s.moving.offer.Memory && c.Map() == nil {
		m.memories++
	}
	s.moving.next = c
}

// connect connects to the peer's listener of an offer. It returns nil on failure.
func (m *mover) connect(o *wire.Offer) (c *samehost.Conn) {
	c, err := samehost.Dial(trust.Stream, socketName(o.Name))
	if err != nil {
		return nil // the peer is in another network namespace or on another host
	}
	if err := c.Greet(o.Token[:], o.Memory && m.mayShare()); err != nil {
		c.Close()
		return nil
	}
	if c.Rings != nil {
		m.memories++
	}
	return c
}

// drop closes a connection that is not used. c may be nil.
func (m *mover) drop(c *samehost.Conn) {
	if c != nil {
		m.unshare(c)
		c.Close()
	}
}

// unshare gives up the shared memory of c, if it has one.
func (m *mover) unshare(c *samehost.Conn) {
	if c.Rings != nil {
		m.memories--
		c.Unshare()
	}
}

// Received implements engine.Mover. The next step follows when the received bytes are parsed: in receiveOnce, or in
// Flush if they had to wait for room.
func (m *mover) Received(c *engine.Conn, kind wire.ExtKind, body []byte) error {
	s := m.streams[c]
	if s == nil {
		return nil
	}
	s.batch.Answer(s.prog.Batch(), s)
	if kind == wire.ExtMoved {
		switch s.move {
		case moveOffered:
			s.move, s.moving.told, s.moving.memory = moveReady, true, wire.MovedMemory(body)
		case moveHeld, moveLast:
			s.moving.told = true
		default:
			return engine.ErrProtocol
		}
		return nil
	}
	o, err := wire.ParseOffer(body)
	if err != nil {
		return err
	}
	if s.move == moveNever && !s.offered {
		s.move, s.offered, s.moving = moveAsked, true, &moving{offer: o}
	}
	return nil
}

// ends returns the addresses of both ends (engine.Conn.Way). They stay the same when the stream moves.
func (s *tcpStream) ends() (e engine.Ends, ok bool) {
	if !s.isOpen() || !s.onOneHost() {
		return e, false
	}
	space, _ := netx.Namespace(s.carrier.socket())
	return engine.Ends{Space: space, Local: netx.EndOf(s.local), Peer: netx.EndOf(s.peer)}, true
}

// onOneHost reports whether both addresses belong to this host.
func (s *tcpStream) onOneHost() bool {
	return s.local.IsValid() && samehost.Addresses(s.local.Addr(), s.peer.Addr())
}

// moveAtRest reports that no move is in progress.
func (s *tcpStream) moveAtRest() bool { return s.move == moveNever || s.move == moveMay }

// advanceMove takes the next step of a move, if it is possible.
func (s *tcpStream) advanceMove() {
	if s.conn.State() != engine.Connected {
		return
	}
	switch s.move {
	case moveMay:
		if s.conn.MsgsIn+s.conn.MsgsOut >= moveAfter && !s.conn.Leaving() {
			s.makeOffer()
		}
	case moveAsked:
		s.takeOffer()
	case moveReady:
		if s.moving.next == nil {
			if starved := s.bufs.mover.listener.Accept(); s.moving.next == nil {
				s.retryMove(starved)
				return
			}
		}
		if !s.conn.HasPending() { // no operation before "moved" could still be canceled
			s.sendLast()
		}
	case moveHeld:
		if s.moving.told {
			s.becomeMoved()
		}
	}
}

// retryMove is called when the peer has sent "moved", but its local connection has not arrived or cannot be
// accepted yet. The peer's bytes wait in the local socket.
func (s *tcpStream) retryMove(starved bool) {
	switch s.moving.retries++; {
	case !starved:
		s.conn.Fail(engine.ErrProtocol)
	case s.moving.retries > retryMoveMax:
		s.failCall("accept", syscall.EMFILE)
	default:
		s.prog.After(mono.Now()+retryMovePause, func(mono.Time) {
			if s.isOpen() && s.move == moveReady && s.moving.next == nil {
				s.advanceMove()
			}
		})
	}
}

// makeOffer sends the peer an offer.
func (s *tcpStream) makeOffer() {
	s.move = moveNever
	if !s.conn.Ours || !s.onOneHost() {
		return
	}
	if !s.bufs.mover.offer(s) {
		s.endMove()
		return
	}
	s.move = moveOffered
	s.conn.Say(s.moving.offer.Append(make([]byte, 0, wire.MaxExt)))
	s.flush()
}

// takeOffer connects to the local socket of the peer's offer.
func (s *tcpStream) takeOffer() {
	s.move = moveNever
	if !s.onOneHost() {
		return
	}
	m := s.moving
	if m.next = s.bufs.mover.connect(&m.offer); m.next == nil {
		return
	}
	m.memory, s.move = m.next.Rings != nil, moveReady
	s.advanceMove()
}

// sendLast queues "moved", the last message over TCP. Later data waits for the next carrier.
func (s *tcpStream) sendLast() {
	s.conn.Say(wire.AppendMoved(make([]byte, 0, wire.MaxExt), s.moving.memory))
	s.moving.last, s.move = s.conn.Queued(), moveLast
	s.flush()
}

// becomeHeld is called when "moved" has left.
func (s *tcpStream) becomeHeld() {
	s.move = moveHeld
	if s.moving.told {
		s.becomeMoved()
	}
}

// becomeMoved continues the stream with the next carrier.
func (s *tcpStream) becomeMoved() {
	s.unregister()
	if !s.changeCarrier() {
		s.failCall("share memory", syscall.EPROTO)
		return
	}
	s.blocked, s.quiet = false, false
	if err := s.register(false); err != nil {
		s.failCall("epoll_ctl", err)
		return
	}
	s.setWant()
	s.flush()
}

// changeCarrier replaces the carrier by the next one. It returns false if the peer uses shared memory and this end
// has none.
func (s *tcpStream) changeCarrier() bool {
	m := s.moving
	s.closeCarrier(false)
	s.move, s.moving = moveNever, nil
	if !m.memory {
		s.bufs.mover.unshare(m.next)
		s.setCarrier(&unixCarrier{socketCarrier{fd: m.next.FD(), iov: s.bufs.iov}})
		return true
	}
	s.setCarrier(&shmCarrier{Conn: m.next, mover: s.bufs.mover})
	return m.next.Rings != nil // nil: descriptors had run out when the memory arrived, or it was invalid
}

// finishMove transmits the data that waits for the peer's "moved", because the stream is closing. The peer reads
// the next carrier after it has received our "moved".
func (s *tcpStream) finishMove() {
	if s.move != moveHeld || s.moving.next == nil {
		return
	}
	if s.receive(); !s.isOpen() || s.move != moveHeld { // closing with unread bytes would reset the TCP connection
		return
	}
	s.detach()
	if s.changeCarrier() {
		s.flush()
	}
}

// endMove gives up the move.
func (s *tcpStream) endMove() {
	if m := s.moving; m != nil {
		s.bufs.mover.withdraw(s)
		s.bufs.mover.drop(m.next)
	}
	s.move, s.moving = moveNever, nil
}
