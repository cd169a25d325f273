package cm

import (
	"net/netip"

	"gofabric/internal/mono"
	"gofabric/internal/queue"
)

// Config is what a Machine keeps to. Times are nanoseconds.
type Config struct {
	// Patience is how long a peer may go on refusing, or leave our bye without an answer while operations wait.
	Patience mono.Time
	// MaxConns is how many connections there should be: the longest idle is closed when there are more. 0: any number.
	MaxConns int
	// IdleTime is how long a connection may be idle before it is closed; 0: for ever.
	IdleTime mono.Time
	// Aux is how many connections a peer may have besides its main one.
	Aux int
}

// Probe answers the Machine's questions about connections. To ask changes nothing.
type Probe interface {
	// Idle reports that nothing is under way on c, so that its end would not be noticed.
	Idle(c *Conn) bool
	// Broken reports that nothing can be sent on c, which is up.
	Broken(c *Conn) bool
	// Wanted reports that operations, or messages for which no receive was posted yet, wait on c, which is not up.
	Wanted(c *Conn) bool
	// Moved grows with each message or byte that c carries.
	Moved(c *Conn) uint64
}

// Times of the protocol between endpoints, nanoseconds.
const (
	// Crossing is how long after a connection came up a request of the same peer can still have crossed it on its way.
	Crossing mono.Time = 3e9
	// retryFirst and retryMax bound the pause before a refused request is sent again.
	retryFirst mono.Time = 2e6
	retryMax   mono.Time = 200e6
	// attemptsMax is where attempts are not counted on: retryFirst<<attemptsMax is more than retryMax.
	attemptsMax = 7
	// lookEvery is how often connections are looked at, with a bound of their number or of their idleness.
	lookEvery mono.Time = 1e9
	lookMin   mono.Time = 1e6
)

// hiddenMax bounds how many peers behind a firewall are remembered: addresses are the peers' own claims.
const hiddenMax = 1 << 16

// Machine is the connection management of one endpoint.
type Machine struct {
	cfg    Config
	probe  Probe
	local  netip.AddrPort
	peers  map[netip.AddrPort]*Peer
	hidden map[netip.AddrPort]struct{} // peers that said that they are behind a firewall
	conns  []*Conn
	timers queue.Heap[mono.Time, *Conn] // by deadline
	lookAt mono.Time                    // when to look for idle connections, None without a bound or connections

	queue []Action
	head  int
}

// New makes the Machine of an endpoint without connections. SetLocal says where it listens.
func New(cfg Config, probe Probe) *Machine {
	return &Machine{cfg: cfg, probe: probe, peers: map[netip.AddrPort]*Peer{}, hidden: map[netip.AddrPort]struct{}{}}
}

// SetLocal says where the endpoint listens, before there are connections.
func (m *Machine) SetLocal(a netip.AddrPort) { m.local = a }

// Conns visits all connections. Connections may close meanwhile; one that stays is visited once at least.
func (m *Machine) Conns(yield func(*Conn) bool) {
	for i := len(m.conns) - 1; i >= 0; i-- {
		if i < len(m.conns) && !yield(m.conns[i]) {
			return
		}
	}
}

// Len counts connections and what waits for one.
func (m *Machine) Len() int { return len(m.conns) }

// At is what operations to the peer at a are posted to; nil if there is none.
func (m *Machine) At(a netip.AddrPort) *Conn {
	if p := m.peers[a]; p != nil {
		return p.main
	}
	return nil
}

// Hidden reports that the peer at a has said that it cannot be connected to.
func (m *Machine) Hidden(a netip.AddrPort) bool {
	_, hidden := m.hidden[a]
	return hidden
}

func (m *Machine) newConn(p *Peer, s State) *Conn {
	c := &Conn{peer: p, state: s, pos: int32(len(m.conns))}
	m.conns = append(m.conns, c)
	return c
}

// Want is the connection to the peer at a; without one it is dialed. The driver sees to User of a new one before Next.
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

// Accepted makes the Conn of what the listener has accepted.
func (m *Machine) Accepted(user any) *Conn {
	c := m.newConn(nil, Accepted)
	c.User = user
	return c
}

// Connected says that c is up: that the peer has accepted our request, or we its. id is the peer's incarnation, 0 if it is not known. words says that it
// understands bye and stay.
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

// Refused says that the peer has refused our request on c, though it may accept the next one, and that operations wait.
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

// Failed says that c has ended, or was refused for good. orderly says that the peer has closed it, so that what it said on auxiliary connections may still come.
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

// Disconnect breaks off the connection to a peer; c is its main one.
func (m *Machine) Disconnect(c *Conn, now mono.Time) {
	p := c.peer
	if c.state == Closed || c != p.main {
		return
	}
	m.dropLeft(p)
	m.endAux(p, false, now)
	m.becomeClosed(c, Canceled)
}

// Close forgets everything. It returns the connections that there were, which the driver ends.
func (m *Machine) Close() []*Conn {
	all := m.conns
	for _, c := range all {
		c.state = Closed
	}
	*m = *New(m.cfg, m.probe)
	return all
}

// Deadline is when Tick is to be called; None: not until something else happens.
func (m *Machine) Deadline() mono.Time { return mono.Earlier(m.nextTimer(), m.lookAt) }

// Tick says how late it is.
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
