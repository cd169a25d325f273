package cm

import (
	"net/netip"

	"gofabric/internal/mono"
	"gofabric/internal/queue"
)

// State is the state of a Conn; doc.go has the diagram.
type State uint8

const (
	Accepted State = iota // by the listener; its request has not arrived
	Deciding              // its request waits until the previous connection has been read
	Waiting               // no transport; waits for the next attempt, the peer's own request, or the answer to our bye
	Dialing               // our request is sent
	Up
	Leaving  // our bye is sent
	Draining // auxiliary connections only: the peer has closed, and its data is still being received
	Closed
)

func (s State) String() string {
	return [...]string{"accepted", "deciding", "waiting", "dialing", "up", "leaving", "draining", "closed"}[s]
}

// role is the use of a Conn.
type role uint8

const (
	roleMain role = iota
	roleSelf      // the main connection of an endpoint with itself; it carries what the endpoint sends
	roleBack      // the other end of that one; it receives
	roleAux
)

// Conn is a connection, or the state of one that is being opened. Operations can wait on it.
type Conn struct {
	// User is for the driver.
	User any

	peer  *Peer // nil until the request is accepted
	state State
	role  role
	index uint8  // number of an auxiliary connection, from 1
	id    uint32 // the peer's incarnation; 0: not known

	words    bool // the peer understands bye and stay
	crossed  bool // a request of ours was given up in favour of it
	attempts uint8
	timer    queue.Place // in Machine.timers
	pos      int32       // in Machine.conns
	giveUp   mono.Time   // the time to stop trying
	since    mono.Time   // the time when it came up
	left     mono.Time   // the time of our bye
	used     mono.Time   // the time of the last activity that look has seen
	moved    uint64      // Probe.Moved at that time
}

// Peer is an endpoint with a connection, or with one that is being opened.
type Peer struct {
	addr    netip.AddrPort // its listening address
	main    *Conn          // operations are posted to it
	leaving *Conn          // the previous one, while our bye has no answer; usually nil
	aux     []auxSlot      // by number less 1; nil if there was none so far
}

// State returns the state of c.
func (c *Conn) State() State { return c.state }

// Addr returns the peer's listening address. It is invalid until the peer's request is accepted.
func (c *Conn) Addr() netip.AddrPort {
	if c.peer == nil {
		return netip.AddrPort{}
	}
	return c.peer.addr
}

// Main returns the main connection to c's peer.
func (c *Conn) Main() *Conn { return c.peer.main }

// Index returns the number of an auxiliary connection, 0 for other connections.
func (c *Conn) Index() uint8 { return c.index }

// Loop distinguishes the two connections of an endpoint with itself: 1 sends, 2 receives. It is 0 for all others.
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

// becomeWaiting has no deadline (mono.None) while the previous connection is being left.
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

// becomeClosed makes the driver end c. Its operations fail for the reason why.
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

// remove removes c from the machine.
func (m *Machine) remove(c *Conn) {
	c.state = Closed
	m.setDeadline(c, mono.None)
	last := m.conns[len(m.conns)-1]
	m.conns[c.pos], last.pos = last, c.pos
	m.conns[len(m.conns)-1] = nil
	m.conns = m.conns[:len(m.conns)-1]
}
