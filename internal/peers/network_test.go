package peers_test

// A network inside the test. What an end of a connection sends arrives in order. The test decides which connection
// is next, so that a run repeats exactly.

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/mono"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// network is all listeners and links.
type network struct {
	listeners map[netip.AddrPort]*listener
	links     []*link // that are open or have frames, in the order of their creation
	seq       int     // number of the next frame
	port      uint16  // the ephemeral port used last
	dials     int
	refuse    error // of Dial
	// pick chooses among n links with frames, ordered by the age of their first one. nil takes the oldest.
	pick func(n int) int
}

type frameKind uint8

const (
	frameAccept      frameKind = iota // the listener has the connection
	frameEstablished                  // the connect has succeeded
	frameBytes
	frameEnd     // of the stream
	frameReset   // of the connection
	frameNothing // there is no listener
)

type frame struct {
	kind frameKind
	seq  int
	b    []byte
}

type listener struct {
	n         *network
	at        netip.AddrPort
	a         stream.Acceptor
	listening bool
}

func (l *listener) Local() netip.AddrPort { return l.at }
func (l *listener) Listen() error         { l.listening = true; return nil }
func (l *listener) Close() {
	if l.n.listeners[l.at] == l {
		delete(l.n.listeners, l.at)
	}
}

// link is one end of a connection. It implements stream.Conn.
type link struct {
	n           *network
	owner       netip.AddrPort // the listening address of its endpoint
	local, peer netip.AddrPort
	other       *link
	c           *engine.Conn
	up          func()
	at          *listener // of an end that was accepted
	inbox       []frame
	established bool
	receiving   bool
	closed      bool // nothing is received or sent any more
	shut        bool // our stream has ended
	held        bool // nothing is delivered, as if the path were broken
	paused      bool // by StopReceiving
	forgotten   []uint64
}

func (n *network) dial(from, to netip.AddrPort, c *engine.Conn, up func()) (*link, error) {
	n.dials++
	if n.refuse != nil {
		return nil, n.refuse
	}
	n.port++
	eph := netip.AddrPortFrom(from.Addr(), 40000+n.port)
	a := &link{n: n, owner: from, local: eph, peer: to, c: c, up: up}
	n.links = append(n.links, a)
	l := n.listeners[to]
	if l == nil || !l.listening {
		a.arrive(frame{kind: frameNothing})
		return a, nil
	}
	b := &link{n: n, owner: to, local: to, peer: eph, other: a, at: l}
	a.other = b
	n.links = append(n.links, b)
	b.arrive(frame{kind: frameAccept})
	a.arrive(frame{kind: frameEstablished})
	return a, nil
}

// arrive puts f at the end of what this end has not received.
func (l *link) arrive(f frame) {
	f.seq = l.n.seq
	l.n.seq++
	l.inbox = append(l.inbox, f)
}

// ready returns the links with frames, the one with the oldest first.
func (n *network) ready() (ready []*link) {
	open := n.links[:0]
	for _, l := range n.links {
		if !l.closed || len(l.inbox) > 0 {
			open = append(open, l)
		}
		if len(l.inbox) == 0 || l.held || l.paused || l.c != nil && l.c.Stalled() {
			continue
		}
		at := len(ready)
		for at > 0 && ready[at-1].inbox[0].seq > l.inbox[0].seq {
			at--
		}
		ready = append(ready, nil)
		copy(ready[at+1:], ready[at:])
		ready[at] = l
	}
	n.links = open
	return ready
}

// step delivers one frame. It returns false if there is none. Locked.
func (n *network) step() bool {
	ready := n.ready()
	if len(ready) == 0 {
		return false
	}
	i := 0
	if n.pick != nil {
		i = n.pick(len(ready))
	}
	ready[i].deliver()
	return true
}

// deliver receives the next frame.
func (l *link) deliver() {
	f := l.inbox[0]
	l.inbox = l.inbox[1:]
	switch {
	case l.closed:
		if f.kind == frameBytes && l.other != nil { // the system answers for a closed end
			l.other.arrive(frame{kind: frameReset})
		}
	case f.kind == frameAccept:
		if l.at.n.listeners[l.local] != l.at {
			l.Close()
			return
		}
		l.established = true
		l.at.a.Accepted(l)
	case f.kind == frameEstablished:
		l.established = true
		l.up()
		l.flush()
	case f.kind == frameBytes:
		l.receive(f.b)
	case f.kind == frameEnd:
		l.c.Fail(engine.ErrPeerClose)
	case f.kind == frameReset:
		l.c.Fail(core.ErrConnReset)
	case f.kind == frameNothing:
		l.c.Fail(core.ErrConnRefused)
	}
}

func (l *link) receive(b []byte) {
	l.receiving = true
	for len(b) > 0 && l.c.State() != engine.Closed {
		k := copy(l.c.Target(), b)
		rest := b[k:]
		if b = nil; k > 0 && len(rest) > 0 {
			rest, b = nil, rest
		}
		l.c.Receive(k, rest)
	}
	l.receiving = false
	l.flush()
}

// flush sends what the Conn has queued.
func (l *link) flush() {
	var space [8][]byte
	for l.established && !l.closed && !l.shut && l.c.State() != engine.Opening && l.c.HasPending() {
		first, list := l.c.Pending(space[:0], 1<<16)
		if first != nil {
			list = append(space[:0], first)
		}
		var b []byte
		for _, p := range list {
			b = append(b, p...)
		}
		if l.other != nil {
			l.other.arrive(frame{kind: frameBytes, b: b})
		}
		l.c.Transmitted(len(b))
	}
}

func (l *link) Local() netip.AddrPort { return l.local }
func (l *link) Peer() netip.AddrPort  { return l.peer }
func (l *link) OnMoved(func())        {}
func (l *link) Hold(on bool)          { l.held = on }
func (l *link) AtRest() bool          { return true }
func (l *link) Resumed()              {}
func (l *link) Forget(key uint64)     { l.forgotten = append(l.forgotten, key) }
func (l *link) Attach(c *engine.Conn) error {
	l.c = c
	return nil
}

func (l *link) Posted(more bool) *batch.Stream {
	if !more {
		l.flush()
	}
	return nil
}

func (l *link) Receive() {
	for len(l.inbox) > 0 && !l.closed && !l.held && !l.c.Stalled() {
		l.deliver()
	}
}

func (l *link) Replied() {
	if !l.receiving {
		l.flush()
	}
}

func (l *link) StopReceiving() {
	if l.c.KnowsEnd() && !l.c.Waiting() {
		l.paused = true
	}
}

func (l *link) Drained(all bool) bool {
	return l.closed || l.c.State() >= engine.Broken || !l.c.Promised(all) && !(l.other != nil && l.other.unread())
}

// unread reports that bytes have not arrived.
func (l *link) unread() bool {
	for _, f := range l.inbox {
		if f.kind == frameBytes && !l.closed {
			return true
		}
	}
	return false
}

func (l *link) End() {
	l.flush()
	l.sendEnd(frameEnd)
}

func (l *link) sendEnd(k frameKind) {
	if !l.shut && l.other != nil {
		l.other.arrive(frame{kind: k})
	}
	l.shut = true
}

func (l *link) Finish() {
	l.flush()
	l.Close()
}

func (l *link) Close() {
	if !l.closed {
		l.sendEnd(frameEnd)
		l.closed = true
	}
}

// reset ends the connection at both ends, as when the path breaks. What is on its way is lost.
func (l *link) reset() {
	for _, e := range []*link{l, l.other} {
		switch {
		case e == nil:
		case e.c == nil: // not accepted yet
			e.vanish()
		default:
			e.inbox, e.shut = nil, true
			e.arrive(frame{kind: frameReset})
		}
	}
}

// vanish ends the connection at this end without a word to the other.
func (l *link) vanish() { l.shut, l.closed, l.inbox = true, true, nil }

// expire ends handshakes whose time is over.
func (n *network) expire(now mono.Time) {
	for _, l := range n.links {
		if l.c != nil && !l.closed {
			l.c.Advance(int64(now))
		}
	}
}
