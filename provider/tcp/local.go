package tcp

import (
	"crypto/rand"
	"encoding/hex"
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/trust"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Between processes of one host a stream goes over from TCP to a local socket, and from there into shared memory (pipe.go). The bytes go on where they
// stopped: nothing above notices.
//
//	the end that connected                      the end that was connected to
//	offer (name of a socket, token)    ->
//	                                            connects there, sends the token, and memory with it
//	                                   <-       moved: the last that it sends over TCP
//	finds the connection by the token
//	moved: the last over TCP           ->
//	goes on there                               goes on there
//
// Who cannot connect, for it is in another network name space after all, says nothing, and everything stays as it is.

const (
	moveAfter   = 32 // messages both ways: who says only little stays
	moveBacklog = 64
	halfMax     = 64 // connections whose token has not come
	movePrefix  = "gofabric-"
)

// moveState is where a stream stands.
type moveState uint8

const (
	moveNever   moveState = iota // it stays, or has moved
	moveMay                      // it can offer when enough was said
	moveOffered                  // it has
	moveAsked                    // an offer was heard
	moveReady                    // the local socket is there: our last word follows when nothing else waits to leave
	moveLast                     // the own last is on its way
	moveHeld                     // it has left: nothing leaves before the peer's comes
)

// moving is what a stream knows while it moves.
type moving struct {
	offer  wire.Offer // made, or heard
	next   netx.FD    // the local socket
	pipe   *pipe      // the memory that goes with it
	memory bool       // there is to be some: who connects to the local socket says so
	last   int        // bytes up to the end of our last word on TCP
	told   bool       // the peer's last was heard
	missed int        // how often the peer could not be taken
}

// lobby is where a domain's peers of this host connect to. It is guarded by the domain's lock.
type lobby struct {
	fd      netx.FD
	name    [wire.NameLen]byte
	waiting map[[wire.NameLen]byte]*tcpStream // by the token they gave
	half    []netx.FD
	spare   []netx.FD                   // for all that are waited for: who has been told where we are cannot be sent away for want of descriptors
	streams map[*engine.Conn]*tcpStream // of the domain
	share   bool                        // memory may be shared
	pipes   int                         // that are
}

func newLobby(share bool) *lobby {
	return &lobby{share: share, fd: netx.NoFD, waiting: map[[wire.NameLen]byte]*tcpStream{}, streams: map[*engine.Conn]*tcpStream{}}
}

// lobbyName is what the socket of a lobby is called.
func lobbyName(name [wire.NameLen]byte) string { return movePrefix + hex.EncodeToString(name[:]) }

// open makes sure that somebody can connect.
func (l *lobby) open() bool {
	if l.fd != netx.NoFD {
		return true
	}
	rand.Read(l.name[:]) // never fails (crypto/rand)
	fd, err := netx.LocalListen(lobbyName(l.name), moveBacklog)
	if err != nil {
		return false
	}
	l.fd = fd
	return true
}

func (l *lobby) close() {
	if l.fd != netx.NoFD {
		netx.Close(l.fd)
		l.fd = netx.NoFD
	}
	for _, fd := range l.half {
		netx.Close(fd)
	}
	l.half = nil
	l.balance()
}

// balance sees to it that there are spare descriptors for all streams that wait, and reports whether it could.
func (l *lobby) balance() bool {
	want := len(l.waiting)
	if l.share {
		want *= 2 // the socket, and the memory that comes with the token
	}
	for len(l.spare) > want {
		l.giveSpare()
	}
	for len(l.spare) < want {
		fd, err := unix.FcntlInt(uintptr(l.fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return false
		}
		l.spare = append(l.spare, netx.FD(fd))
	}
	return true
}

// giveSpare makes a descriptor free for somebody who has connected, and reports whether there was one.
func (l *lobby) giveSpare() bool {
	last := len(l.spare) - 1
	if last < 0 {
		return false
	}
	netx.Close(l.spare[last])
	l.spare = l.spare[:last]
	return true
}

// leave ends the wait of s.
func (l *lobby) leave(s *tcpStream) {
	if token := s.moving.offer.Token; l.waiting[token] == s {
		delete(l.waiting, token)
		l.balance()
	}
}

// admit takes who has connected, and gives those whose token has come to their streams. starved says that descriptors were wanting for that.
func (l *lobby) admit() (starved bool) {
	defer l.balance()
	half := l.half
	l.half = nil
	for _, fd := range half {
		starved = l.recognise(fd) || starved
	}
	for range 2 * moveBacklog { // who is expected waits already: strangers that go on connecting do not keep us
		fd, err := netx.LocalAccept(l.fd)
		for wanting(err) && l.giveSpare() {
			fd, err = netx.LocalAccept(l.fd)
		}
		if err != nil {
			return wanting(err) || starved
		}
		if _, ok := trust.Same(fd, trust.Stream, lobbyName(l.name)); !ok {
			netx.Close(fd)
			continue
		}
		starved = l.recognise(fd) || starved
		l.balance()
	}
	return starved
}

// room makes sure that a descriptor can come, for the system drops one that finds no room.
func (l *lobby) room() bool {
	if l.giveSpare() {
		return true
	}
	fd, err := unix.FcntlInt(uintptr(l.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return false
	}
	netx.Close(netx.FD(fd))
	return true
}

// recognise finds the stream that somebody who has connected belongs to. starved is as of admit.
func (l *lobby) recognise(fd netx.FD) (starved bool) {
	if l.share && !l.room() {
		l.half = append(l.half, fd)
		return true
	}
	var token [wire.NameLen]byte
	n, memory, err := netx.RecvWith(fd, token[:])
	if memory != netx.NoFD {
		defer netx.Close(memory)
	}
	if err == unix.EAGAIN || err == unix.EINTR {
		if l.half = append(l.half, fd); len(l.half) > halfMax {
			netx.Close(l.half[0])
			l.half = l.half[1:]
		}
		return false
	}
	s := l.waiting[token]
	if n < len(token) || s == nil {
		netx.Close(fd) // a stranger, or too late
		return false
	}
	delete(l.waiting, token)
	s.moving.next = fd
	if memory != netx.NoFD && s.moving.offer.Memory {
		s.moving.pipe = l.openPipe(memory)
	}
	return false
}

// Heard implements engine.Mover. What follows from it is done when the bytes at hand are parsed: by receiveOnce, or by Flush, for they may have had to wait
// for room.
func (l *lobby) Heard(c *engine.Conn, kind wire.ExtKind, body []byte) error {
	s := l.streams[c]
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
	if s.move == moveNever && !s.asked {
		s.move, s.asked, s.moving = moveAsked, true, &moving{next: netx.NoFD, offer: o}
	}
	return nil
}

// mayMove is called when the transport is up, at the end that connected.
func (s *tcpStream) mayMove() {
	if s.bufs.lobby != nil {
		s.move = moveMay
	}
}

// oneHost reports whether both addresses of a connection look like this host's. Whoever is wrong about that finds nobody at the local socket.
func oneHost(local, peer netip.AddrPort) bool {
	return netx.OneHost(local.Addr().Unmap(), peer.Addr().Unmap())
}

// ends says where the ends of the connection are (engine.Conn.Way); they stay the same when the stream moves.
func (s *tcpStream) ends() (e engine.Ends, ok bool) {
	local, peer := s.local.Addr().Unmap(), s.peer.Addr().Unmap()
	if s.fd == netx.NoFD || !local.IsValid() || !netx.OneHost(local, peer) {
		return e, false
	}
	space, _ := netx.Namespace(s.fd)
	return engine.Ends{Space: space, Local: netx.EndOf(s.local), Peer: netx.EndOf(s.peer)}, true
}

// turn does what is next for a stream that can move.
func (s *tcpStream) turn() {
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
		if s.moving.next == netx.NoFD {
			if starved := s.bufs.lobby.admit(); s.moving.next == netx.NoFD {
				s.miss(starved)
				return
			}
		}
		if !s.conn.HasPending() { // nothing that could be cancelled in front of it
			s.sayLast()
		}
	case moveHeld:
		if s.moving.told {
			s.becomeMoved()
		}
	}
}

// A stream whose peer has connected, and for which somebody else has taken the spare descriptor, asks again after missPause, missMax times.
const (
	missPause = 10e6 // ns
	missMax   = 1000
)

// miss is called when the peer has said that it has connected, and it has not, or cannot be taken yet. What it sends there waits.
func (s *tcpStream) miss(starved bool) {
	switch s.moving.missed++; {
	case !starved:
		s.conn.Fail(engine.ErrProtocol)
	case s.moving.missed > missMax:
		s.failCall("accept", unix.EMFILE)
	default:
		s.prog.After(mono.Now()+missPause, func(mono.Time) {
			if s.fd != netx.NoFD && s.move == moveReady && s.moving.next == netx.NoFD {
				s.turn()
			}
		})
	}
}

// makeOffer says where the peer can find us.
func (s *tcpStream) makeOffer() {
	l := s.bufs.lobby
	if !s.conn.Ours || !oneHost(s.local, s.peer) || !l.open() {
		s.move = moveNever
		return
	}
	s.moving = &moving{next: netx.NoFD, offer: wire.Offer{Name: l.name, Memory: l.mayShare()}}
	rand.Read(s.moving.offer.Token[:])
	l.waiting[s.moving.offer.Token] = s
	if !l.balance() {
		s.stay()
		return
	}
	s.move = moveOffered
	s.conn.Say(s.moving.offer.Append(make([]byte, 0, wire.MaxExt)))
	s.flush()
}

// takeOffer connects to where the peer is said to be.
func (s *tcpStream) takeOffer() {
	o := &s.moving.offer
	s.move = moveNever
	local, err := netx.LocalAddr(s.fd)
	if err != nil || !oneHost(local, s.peer) {
		return
	}
	fd, err := netx.LocalConnect(lobbyName(o.Name))
	if err != nil {
		return // not the same host: then it stays
	}
	if _, ok := trust.Same(fd, trust.Stream, lobbyName(o.Name)); !ok {
		netx.Close(fd)
		return
	}
	memory := netx.NoFD
	if o.Memory {
		s.moving.pipe, memory = s.bufs.lobby.newPipe()
		s.moving.memory = s.moving.pipe != nil
	}
	n, err := netx.SendWith(fd, o.Token[:], memory)
	if memory != netx.NoFD {
		netx.Close(memory)
	}
	if n < len(o.Token) || err != nil {
		s.bufs.lobby.closePipe(s.moving.pipe)
		s.moving.pipe = nil
		netx.Close(fd)
		return
	}
	s.moving.next, s.move = fd, moveReady
	s.turn()
}

// sayLast queues our last word on TCP. What is queued after it waits for the local socket.
func (s *tcpStream) sayLast() {
	s.conn.Say(wire.AppendMoved(make([]byte, 0, wire.MaxExt), s.moving.memory))
	s.moving.last, s.move = s.conn.Queued(), moveLast
	s.flush()
}

// upTo cuts what is to be sent after left bytes.
func upTo(left int, first []byte, list [][]byte) ([]byte, [][]byte) {
	if first != nil {
		return first[:min(len(first), left)], nil
	}
	for i, b := range list {
		if len(b) >= left {
			list[i] = b[:left]
			return nil, list[:i+1]
		}
		left -= len(b)
	}
	return nil, list
}

// becomeHeld is called when our last word on TCP has left.
func (s *tcpStream) becomeHeld() {
	s.move = moveHeld
	if s.moving.told {
		s.becomeMoved()
	}
}

// sayAll sends what waits for the peer's last word over TCP, for the stream is closing: the peer goes on reading here when it has heard ours.
func (s *tcpStream) sayAll() {
	if s.move != moveHeld || s.moving.next == netx.NoFD {
		return
	}
	if s.receive(); s.fd == netx.NoFD || s.move != moveHeld { // what is not read when TCP is closed would reset it
		return
	}
	s.detach()
	s.closeTCP()
	s.fd, s.moving.next, s.move, s.moved = s.moving.next, netx.NoFD, moveNever, true
	if s.usePipe() {
		s.flush()
	}
}

// usePipe goes on with the memory, if there is to be some, and reports whether it could.
func (s *tcpStream) usePipe() bool {
	m := s.moving
	if !m.memory {
		s.bufs.lobby.closePipe(m.pipe)
		m.pipe = nil
		return true
	}
	s.pipe, m.pipe = m.pipe, nil
	return s.pipe != nil
}

// becomeMoved goes on with the local socket.
func (s *tcpStream) becomeMoved() {
	if s.h != nil {
		s.h.Remove()
		s.h = nil
	}
	s.closeTCP()
	s.fd = s.moving.next
	usable := s.usePipe()
	s.move, s.moving, s.blocked, s.moved, s.unheard = moveNever, nil, false, true, false
	if !usable { // descriptors had run out when it came, or it is not as it should be
		s.failCall("share memory", unix.EPROTO)
		return
	}
	netx.SetBuffers(s.fd, loopbackSendBuf, 0) // a favour: without it things work as well
	var err error
	if s.pipe != nil {
		s.h, err = s.prog.RegisterMemory(s.fd, s, netx.In)
	} else {
		s.h, err = s.prog.Register(s.fd, s, true, netx.In)
	}
	if err != nil {
		s.failCall("epoll_ctl", err)
		return
	}
	s.setWant()
	s.flush()
}

// stay forgets about moving.
func (s *tcpStream) stay() {
	if m := s.moving; m != nil {
		s.bufs.lobby.leave(s)
		if m.next != netx.NoFD {
			netx.Close(m.next)
		}
		s.bufs.lobby.closePipe(m.pipe)
	}
	s.move, s.moving = moveNever, nil
}
