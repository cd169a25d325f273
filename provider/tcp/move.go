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

// Between processes of one host a stream moves from TCP to another carrier: a local socket, or shared memory. The bytes go on where they stopped, and nothing
// above notices.
//
//	the end that connected                      the end that accepted
//	offer (name of a socket, token)    ->
//	                                            connects there, and greets with the token, and memory
//	                                   <-       moved: the last that it sends over TCP
//	finds the connection by the token
//	moved: the last over TCP           ->
//	goes on there                               goes on there
//
// An end that cannot connect, for it is in another network namespace after all, says nothing, and the stream stays where it is.

const (
	moveAfter    = 32 // messages both ways: streams with fewer stay
	uninvitedMax = 64 // local connections whose token has not come, at most

	// An end whose peer has connected, and that could not accept it for want of descriptors, tries again after retryMovePause, retryMoveMax times.
	retryMovePause = 10e6 // ns
	retryMoveMax   = 1000
)

// moveState is where a stream stands.
type moveState uint8

const (
	moveNever   moveState = iota // it stays, or has moved
	moveMay                      // it can make an offer after enough messages
	moveOffered                  // it has made one
	moveAsked                    // it has received one
	moveReady                    // the next carrier is there: the last over TCP follows when nothing else waits to leave
	moveLast                     // the last over TCP is leaving
	moveHeld                     // it has left: nothing else leaves before the peer's has come
)

// moving is what a stream knows while it moves.
type moving struct {
	offer   wire.Offer     // made, or received
	next    *samehost.Conn // to go on with; nil: it is not there yet
	memory  bool           // the stream goes on in memory: the end that connects says so
	last    int            // bytes up to the end of the last over TCP
	told    bool           // the peer's last over TCP has come
	retries int            // accepts that have failed
}

// mover moves a domain's streams. It is guarded by the domain's lock.
type mover struct {
	listener *samehost.Listener // nil: no stream has made an offer
	name     [wire.NameLen]byte // of its socket
	offers   map[[wire.NameLen]byte]*tcpStream
	streams  map[*engine.Conn]*tcpStream // of the domain
	share    bool                        // memory may be shared
	memories int                         // that are
}

func newMover(share bool) *mover {
	return &mover{share: share, offers: map[[wire.NameLen]byte]*tcpStream{}, streams: map[*engine.Conn]*tcpStream{}}
}

// socketName is the name of the local socket that an offer names.
func socketName(name [wire.NameLen]byte) string {
	return samehost.Name("tcp", hex.EncodeToString(name[:]))
}

// listen makes sure that peers can connect.
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

// mayShare reports whether there may be one more shared memory.
func (m *mover) mayShare() bool { return m.share && m.memories < shmCarriersMax }

// offer makes an offer for s, and reports whether it could.
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

// withdraw takes back what s has offered.
func (m *mover) withdraw(s *tcpStream) {
	if token := s.moving.offer.Token; m.offers[token] == s {
		delete(m.offers, token)
		m.listener.Expect(len(m.offers))
	}
}

// greeted takes the connection of a peer to the stream whose token it has.
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

// connect connects to the peer that has made s an offer.
func (m *mover) connect(o *wire.Offer) (c *samehost.Conn) {
	c, err := samehost.Dial(trust.Stream, socketName(o.Name))
	if err != nil {
		return nil // another host after all
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

// drop closes a connection that is not used; it may be nil.
func (m *mover) drop(c *samehost.Conn) {
	if c != nil {
		m.unshare(c)
		c.Close()
	}
}

// unshare ends the use of the memory of c, if it has some.
func (m *mover) unshare(c *samehost.Conn) {
	if c.Rings != nil {
		m.memories--
		c.Unshare()
	}
}

// Heard implements engine.Mover. What follows is done when the bytes at hand are parsed: by receiveOnce; or by Flush, for they may have had to wait for room.
func (m *mover) Heard(c *engine.Conn, kind wire.ExtKind, body []byte) error {
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

// ends says where the ends of the connection are (engine.Conn.Way); they stay the same when the stream moves.
func (s *tcpStream) ends() (e engine.Ends, ok bool) {
	if !s.isOpen() || !s.onOneHost() {
		return e, false
	}
	space, _ := netx.Namespace(s.carrier.socket())
	return engine.Ends{Space: space, Local: netx.EndOf(s.local), Peer: netx.EndOf(s.peer)}, true
}

// onOneHost reports whether both addresses look like this host's.
func (s *tcpStream) onOneHost() bool {
	return s.local.IsValid() && samehost.Addresses(s.local.Addr(), s.peer.Addr())
}

// moveAtRest reports that no move is under way.
func (s *tcpStream) moveAtRest() bool { return s.move == moveNever || s.move == moveMay }

// advanceMove takes the next step of a move, if it is time.
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
		if !s.conn.HasPending() { // nothing that could be cancelled stands before it
			s.sendLast()
		}
	case moveHeld:
		if s.moving.told {
			s.becomeMoved()
		}
	}
}

// retryMove is called when the peer has said that it has connected, and it has not, or cannot be accepted yet. What it sends waits in the local socket.
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

// makeOffer tells the peer where it can connect.
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

// takeOffer connects to the peer that has made an offer.
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

// sendLast queues the last over TCP. What is queued after it waits for the next carrier.
func (s *tcpStream) sendLast() {
	s.conn.Say(wire.AppendMoved(make([]byte, 0, wire.MaxExt), s.moving.memory))
	s.moving.last, s.move = s.conn.Queued(), moveLast
	s.flush()
}

// becomeHeld is called when the last over TCP has left.
func (s *tcpStream) becomeHeld() {
	s.move = moveHeld
	if s.moving.told {
		s.becomeMoved()
	}
}

// becomeMoved goes on with the next carrier.
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

// changeCarrier replaces the carrier by the next one, and reports whether it could: memory must be there if the peer goes on in it.
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
	return m.next.Rings != nil // else descriptors had run out when it came, or it was not as it should be
}

// finishMove sends what waits for the peer's last over TCP, for the stream is closing: the peer goes on reading the next carrier when that has come.
func (s *tcpStream) finishMove() {
	if s.move != moveHeld || s.moving.next == nil {
		return
	}
	if s.receive(); !s.isOpen() || s.move != moveHeld { // unread bytes would reset the TCP connection
		return
	}
	s.detach()
	if s.changeCarrier() {
		s.flush()
	}
}

// endMove gives up moving.
func (s *tcpStream) endMove() {
	if m := s.moving; m != nil {
		s.bufs.mover.withdraw(s)
		s.bufs.mover.drop(m.next)
	}
	s.move, s.moving = moveNever, nil
}
