package cm

import (
	"net/netip"

	"gofabric/internal/mono"
	"gofabric/internal/queue"
)

// Config has the limits of a Machine. Times are in nanoseconds.
type Config struct {
	// Patience is how long a request that a peer refuses is repeated, and how long our bye may have no answer while
	// operations wait.
	Patience mono.Time
	// MaxConns is the number of connections above which the longest idle one is closed. 0: no limit.
	MaxConns int
	// IdleTime is the time after which an idle connection is closed. 0: never.
	IdleTime mono.Time
	// Aux is the largest number of auxiliary connections of a peer.
	Aux int
}

// Probe answers the Machine's questions about connections. Its methods change no state.
type Probe interface {
	// Idle reports that c has no operations in progress, so that its end has no effect on any.
	Idle(c *Conn) bool
	// Broken reports that c, which is up, cannot send any more.
	Broken(c *Conn) bool
	// Wanted reports that operations or unexpected messages wait on c, which is not up.
	Wanted(c *Conn) bool
	// Moved returns a number that grows with each message or byte on c.
	Moved(c *Conn) uint64
}

// Protocol times, nanoseconds.
const (
	// Crossing is the longest time, after a connection came up, in which a crossing request of the same peer can
	// arrive.
	Crossing mono.Time = 3e9
	// retryFirst and retryMax are the limits of the pause before a refused request is repeated. It doubles each
	// time.
	retryFirst mono.Time = 2e6
	retryMax   mono.Time = 200e6
	// attemptsMax ends the count of attempts: retryFirst<<attemptsMax is more than retryMax.
	attemptsMax = 7
	// lookEvery is the interval between searches for idle connections, if there is a limit of their number or idle
	// time.
	lookEvery mono.Time = 1e9
	lookMin   mono.Time = 1e6
)

// hiddenMax is the largest number of stored peers behind a firewall. It bounds memory, since peers can claim any
// address.
const hiddenMax = 1 << 16

// Machine is the connection management of one endpoint.
type Machine struct {
	cfg    Config
	probe  Probe
	local  netip.AddrPort
	peers  map[netip.AddrPort]*Peer
	hidden map[netip.AddrPort]struct{} // peers that have said that they are behind a firewall
	conns  []*Conn
	timers queue.Heap[mono.Time, *Conn] // by deadline
	// Time of the next search for idle connections; None without a limit or connections.
	lookAt mono.Time

	queue []Action
	head  int
}

// New makes the Machine of an endpoint without connections. SetLocal follows.
func New(cfg Config, probe Probe) *Machine {
	return &Machine{cfg: cfg, probe: probe, peers: map[netip.AddrPort]*Peer{}, hidden: map[netip.AddrPort]struct{}{}}
}

// SetLocal sets the endpoint's listening address, before there are connections.
func (m *Machine) SetLocal(a netip.AddrPort) { m.local = a }

// Conns visits all connections. yield may close connections. Each of the others is visited at least once.
func (m *Machine) Conns(yield func(*Conn) bool) {
	for i := len(m.conns) - 1; i >= 0; i-- {
		if i < len(m.conns) && !yield(m.conns[i]) {
			return
		}
	}
}

// Len counts connections, including those that are being opened.
func (m *Machine) Len() int { return len(m.conns) }

// At returns the main connection to the peer at a, nil if there is none.
func (m *Machine) At(a netip.AddrPort) *Conn {
	if p := m.peers[a]; p != nil {
		return p.main
	}
	return nil
}

// Hidden reports that the peer at a has said that it accepts no connections.
func (m *Machine) Hidden(a netip.AddrPort) bool {
	_, hidden := m.hidden[a]
	return hidden
}

func (m *Machine) newConn(p *Peer, s State) *Conn {
	c := &Conn{peer: p, state: s, pos: int32(len(m.conns))}
	m.conns = append(m.conns, c)
	return c
}

// Want returns the main connection to the peer at a. It dials if there is none. The driver sets User of a new one
// before it calls Next.
func (m *Machine) Want(a netip.AddrPort, now mono.Time) *Conn {
	if c := m.At(a); c != nil {
		return c
	}
	p := &Peer{addr: a}
	p.main = m.newConn(p, Dialing)
	p.main.giveUp = now + m.cfg.Patience
	m.peers[a] = p
	m.becomeDialing(p.main)
	m.look(now)
	return p.main
}

// Accepted is the event that the listener has accepted a connection. It returns its Conn.
func (m *Machine) Accepted(user any) *Conn {
	c := m.newConn(nil, Accepted)
	c.User = user
	return c
}

// Connected is the event that c is up, because the peer has accepted our request, or this end the peer's. id is the
// peer's incarnation, 0 if it is not known. words means that the peer understands bye and stay.
func (m *Machine) Connected(c *Conn, id uint32, words bool, now mono.Time) {
	if c.state != Dialing && c.state != Up {
		return
	}
	if c.words = words; id != 0 {
		c.id = id
	}
	if c.role == roleAux {
		c.peer.aux[c.index-1].failed = 0
	}
	if c.state == Dialing {
		m.becomeUp(c, now)
	}
}

// Refused is the event that the peer has refused our request on c. The peer may accept the next one, and operations
// wait.
func (m *Machine) Refused(c *Conn, now mono.Time) {
	if c.state != Dialing {
		return
	}
	if c.role == roleAux || now >= c.giveUp {
		m.fail(c, false, Rejected, now)
		return
	}
	m.becomeWaiting(c, now+min(retryFirst<<c.attempts, retryMax))
}

// Failed is the event that c has ended, or was refused for good. orderly means that the peer has closed it, so that
// its data on auxiliary connections may still arrive.
func (m *Machine) Failed(c *Conn, orderly bool, now mono.Time) { m.fail(c, orderly, Ended, now) }

func (m *Machine) fail(c *Conn, orderly bool, why Reason, now mono.Time) {
	switch {
	case c.state == Closed:
		return
	case c.state == Leaving:
		m.part(c, orderly, now)
		return
	case c.role == roleAux:
		m.auxFailed(c, now)
	case c.peer != nil && c == c.peer.main:
		m.endAux(c.peer, orderly, now)
	}
	m.becomeClosed(c, why)
}

// Disconnect aborts the connection to a peer. c is its main connection.
func (m *Machine) Disconnect(c *Conn, now mono.Time) {
	p := c.peer
	if c.state == Closed || c != p.main {
		return
	}
	m.dropLeft(p)
	m.endAux(p, false, now)
	m.becomeClosed(c, Canceled)
}

// Close empties the machine. It returns all connections, and the driver ends them.
func (m *Machine) Close() []*Conn {
	all := m.conns
	for _, c := range all {
		c.state = Closed
	}
	*m = *New(m.cfg, m.probe)
	return all
}

// Deadline returns the time of the next Tick. None: not before another event.
func (m *Machine) Deadline() mono.Time { return mono.Earlier(m.nextTimer(), m.lookAt) }

// Tick is the event that time has passed.
func (m *Machine) Tick(now mono.Time) {
	for m.nextTimer().Due(now) {
		c := m.timers.Min()
		m.setDeadline(c, mono.None)
		switch c.state {
		case Waiting:
			m.becomeDialing(c)
		case Leaving:
			m.leftTooLong(c, now)
		case Draining:
			m.becomeClosed(c, Ended)
		}
	}
	if m.lookAt.Due(now) {
		m.look(now)
	}
}
