package tcp

import (
	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/shm"
)

// A stream that has moved to a local socket may carry its bytes in memory that both processes share. The socket then carries bells only, single bytes whose value
// means nothing, and its end is the peer's. What the stream still says of its socket (fd, want, readiness) is true of the bells.
//
// While every pass polls the stream (progress.Director) neither end makes a system call, but that the poller is asked for the peer's end now and then. Else it is asleep, and then one of these holds, which settle sees to:
// nothing is to be taken, and the next that is written rings the bell; or it is marked ready; or it is stalled or held, and setWant, which ends that, settles again.

// pipeMax is the most shared memories of a domain, all of which every pass looks at. Who has more peers on its host finds sockets fast enough.
const pipeMax = 32

// pipe is the shared memory of a stream.
type pipe struct {
	*shm.End
	awake bool // every pass polls it
	over  bool // the peer has closed its end
}

var bell [1]byte

// mayShare says whether there may be one more shared memory.
func (l *lobby) mayShare() bool { return l.share && l.pipes < pipeMax }

// newPipe makes shared memory, if there may be more, and returns the descriptor to give to the peer, which the caller closes.
func (l *lobby) newPipe() (*pipe, netx.FD) {
	if !l.mayShare() {
		return nil, netx.NoFD
	}
	end, fd, err := shm.Create()
	if err != nil {
		return nil, netx.NoFD // the socket does as well
	}
	l.pipes++
	return &pipe{End: end}, netx.FD(fd)
}

// openPipe takes the peer's, which was offered to when there might be one more.
func (l *lobby) openPipe(fd netx.FD) *pipe {
	end, err := shm.Open(int(fd))
	if err != nil {
		return nil
	}
	l.pipes++
	return &pipe{End: end}
}

// closePipe ends the use of n, which may be nil.
func (l *lobby) closePipe(n *pipe) {
	if n != nil {
		l.pipes--
		n.Close()
	}
}

// put writes what there is room for: first, or else list. unix.EAGAIN: there is none, and the peer will ring when there is. unix.EPROTO: the peer has broken
// the memory.
func (n *pipe) put(first []byte, list [][]byte) (total int, errno unix.Errno) {
	if first != nil {
		total, err := n.Write(first)
		return n.room(total, err)
	}
	for _, b := range list {
		k, err := n.Write(b)
		total += k
		if err != nil || k < len(b) {
			return n.room(total, err)
		}
	}
	return total, 0
}

// room says what has become of a put of total bytes.
func (n *pipe) room(total int, err error) (int, unix.Errno) {
	if total > 0 && err == nil {
		return total, 0
	}
	if err == nil {
		var full bool
		if full, err = n.Full(); full && err == nil {
			return 0, unix.EAGAIN
		}
	}
	if err != nil {
		return 0, unix.EPROTO
	}
	return 0, unix.EINTR // there is room by now
}

// take reads into target and what follows into head.
func (n *pipe) take(target, head []byte) (total int, err error) {
	if len(target) > 0 {
		if total, err = n.Read(target); total < len(target) {
			return total, err
		}
	}
	k, err := n.Read(head)
	return total + k, err
}

// ring rings the peer's bell. That it cannot hear shows when the socket is looked at.
func (s *tcpStream) ring() { netx.Send(s.fd, bell[:], false) }

// wake rings if the peer sleeps and something was written for it.
func (s *tcpStream) wake() {
	if s.pipe != nil && s.pipe.Written() {
		s.ring()
	}
}

// transmit sends what it can of first, or of list.
func (s *tcpStream) transmit(first []byte, list [][]byte) (n int, errno unix.Errno) {
	switch {
	case s.pipe != nil:
		return s.pipe.put(first, list)
	case first != nil:
		return netx.Send(s.fd, first, false)
	}
	v := s.bufs.iov
	v.Reset()
	for _, b := range list {
		v.Append(b)
	}
	n, errno = netx.SendV(s.fd, v, false)
	v.Reset()
	return n, errno
}

// takeIn receives into target, if there is one, and what follows into head. No bytes and no error: the peer has closed.
func (s *tcpStream) takeIn(target, head []byte) (n int, errno unix.Errno) {
	switch {
	case s.pipe != nil:
		return s.takePipe(target, head)
	case target == nil:
		return netx.Recv(s.fd, head)
	}
	v := s.bufs.iov
	v.Reset()
	v.Append(target)
	v.Append(head)
	n, errno = netx.RecvV(s.fd, v)
	v.Reset()
	return n, errno
}

func (s *tcpStream) takePipe(target, head []byte) (int, unix.Errno) {
	l := s.pipe
	n, err := l.take(target, head)
	switch {
	case err != nil:
		return 0, unix.EPROTO
	case n > 0:
		if l.Taken() {
			s.ring()
		}
		return n, 0
	case l.over:
		return 0, 0
	}
	return 0, unix.EAGAIN
}

// heed hears the bells that were rung, and notices the peer's end: what it has written before is taken first.
func (s *tcpStream) heed() {
	var b [64]byte
	switch n, errno := netx.Recv(s.fd, b[:]); {
	case errno == unix.EAGAIN, errno == unix.EINTR:
	case n == 0: // closed; or with ECONNRESET, before it had heard all of our bells
		s.pipe.over = true
	}
}

// Direct implements progress.Director.
func (s *tcpStream) Direct(on bool) error {
	if s.pipe != nil {
		s.pipe.awake = on
		s.pipe.SetAwake(on)
		s.settle()
	}
	return nil
}

// settle makes sure that a stream that nobody polls is heard of, if there is something to do.
func (s *tcpStream) settle() {
	l := s.pipe
	if l == nil || l.awake || s.h == nil {
		return
	}
	if s.blocked {
		if full, err := l.Full(); !full || err != nil {
			s.h.Notify()
			return
		}
	}
	if s.conn.Stalled() || s.held {
		return
	}
	if n, err := l.Waiting(); n > 0 || err != nil || l.over {
		s.h.Notify()
	}
}
