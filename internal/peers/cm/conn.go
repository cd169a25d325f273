package cm

import (
	"net/netip"

	"gofabric/internal/mono"
	"gofabric/internal/queue"
)

// State is where a Conn stands; doc.go has the diagram.
type State uint8

const (
	Accepted State = iota // by the listener; its request has not come
	Deciding              // its request waits until the connection before has been read
	Waiting               // no transport: for the next attempt, the peer's own request, or the answer to our bye
	Dialing               // our request is on its way
	Up
	Leaving  // our bye is on its way
	Draining // of an auxiliary connection: the peer has closed, what it has sent is still received
	Closed
)

func (s State) String() string {
	return [...]string{"accepted", "deciding", "waiting", "dialing", "up", "leaving", "draining", "closed"}[s]
}

// role says what a Conn is for.
type role uint8

const (
	roleMain role = iota
	roleSelf      // the main connection of an endpoint with itself, which carries what it sends
	roleBack      // the other end of that one, which brings it
	roleAux
)

// Conn is a connection, or what waits for one.
type Conn struct {
	// User is the driver's.
	User any

	peer  *Peer // nil until the request was accepted
	state State
	role  role
	index uint8  // of an auxiliary connection, from 1
	id    uint32 // the peer's incarnation, 0 not known

	words    bool // the peer understands bye and stay
	crossed  bool // a request of ours was given up for it
	attempts uint8
	timer    queue.Place // in Machine.timers
	pos      int32       // in Machine.conns
	giveUp   mono.Time   // when to stop trying
	since    mono.Time   // when it came up
	left     mono.Time   // when our bye was said
	used     mono.Time   // when something was last seen to have happened
	moved    uint64      // what had happened by then
}

// Peer is an endpoint that we have a connection with, or want one.
type Peer struct {
	addr    netip.AddrPort // where it listens
	main    *Conn          // what operations are posted to
	leaving *Conn          // the one before, if our bye is out; nil usually
	aux     []auxSlot      // by index less 1; nil if there was none
}

// State is where c stands.
func (c *Conn) State() State { return c.state }

// Addr is where the peer listens; invalid until its request was accepted.
func (c *Conn) Addr() netip.AddrPort {
	if c.peer == nil {
		return netip.AddrPort{}
	}
	return c.peer.addr
}

// Main is what operations to c's peer are posted to.
func (c *Conn) Main() *Conn { return c.peer.main }

// Index is the number of an auxiliary connection, 0 of another.
func (c *Conn) Index() uint8 { return c.index }

// Loop tells the two connections of an endpoint with itself apart: 1 carries what it sends, 2 brings it. It is 0 of all others.
func (c *Conn) Loop() int {
	switch c.role {
	case roleSelf:
		return 1
	case roleBack:
		return 2
	}
	return 0
}

func (m *Machine) becomeDialing(c *Conn) {
	c.state = Dialing
	c.attempts = min(c.attempts+1, attemptsMax)
	m.setDeadline(c, mono.None)
	m.do(Action{Kind: Dial, Conn: c})
}

// becomeWaiting is without a deadline while the connection before is being left.
func (m *Machine) becomeWaiting(c *Conn, until mono.Time) {
	c.state = Waiting
	m.setDeadline(c, until)
}

func (m *Machine) becomeUp(c *Conn, now mono.Time) {
	c.state, c.since, c.used = Up, now, now
	m.setDeadline(c, mono.None)
}

func (m *Machine) becomeLeaving(c *Conn, now mono.Time) {
	c.state, c.left = Leaving, now
	m.setDeadline(c, now+m.cfg.Patience)
}

func (m *Machine) becomeDraining(c *Conn, now mono.Time) {
	m.releaseSlot(c)
	c.state = Draining
	m.setDeadline(c, now+Crossing)
	m.do(Action{Kind: Drain, Conn: c})
}

// becomeClosed has the driver end c: operations on it fail for the reason.
func (m *Machine) becomeClosed(c *Conn, why Reason) {
	if p := c.peer; p != nil {
		m.releaseSlot(c)
		switch c {
		case p.leaving:
			p.leaving = nil
		case p.main:
			delete(m.peers, p.addr)
		}
	}
	m.remove(c)
	m.do(Action{Kind: Drop, Conn: c, Why: why})
}

// remove takes c out of the machine.
func (m *Machine) remove(c *Conn) {
	c.state = Closed
	m.setDeadline(c, mono.None)
	last := m.conns[len(m.conns)-1]
	m.conns[c.pos], last.pos = last, c.pos
	m.conns[len(m.conns)-1] = nil
	m.conns = m.conns[:len(m.conns)-1]
}
