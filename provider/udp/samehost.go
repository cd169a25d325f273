package udp

import (
	"math"
	"net/netip"
	"slices"
	"syscall"

	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/shm"
	"gofabric/internal/trust"
)

// A port finds ports to share memory with by its sends. After meetAfter datagrams to another port of this host, it
// connects to a local socket whose name is made of the destination's address (unix(7): abstract names belong to the
// network namespace, as UDP ports do). If no socket has that name, the sender listens itself, as the destination
// may connect later, and tries again after twice as many datagrams. So a port that sends nothing to this host has
// one socket, and one that sends to a native endpoint of this host makes a few calls more.

const (
	meetAfter      = 32 // datagrams to a port of this host before the first try; default of FI_UDP_LOCAL_MEMORY_AFTER
	never          = math.MaxUint64
	shmPeersMax    = 16 // peers of a port, as each pass reads all
	domainShmPeers = 32 // peers of a domain, as each has 520 KiB
	countersMax    = 64 // destinations whose datagrams are counted
)

// sameHost is a port's state about other ports of this host.
type sameHost struct {
	p        *port
	last     *shmPeer           // peer of the last send
	far      netip.Addr         // the last address that was found to belong to another host
	datapath *shmDatapath       // nil if there was no peer yet
	listener *samehost.Listener // nil if other ports cannot connect
	counters [countersMax]socketCount
}

// socketCount counts the datagrams that went through the socket to a port of this host. Ports with the same
// remainder of their number share a counter.
type socketCount struct {
	at         netip.AddrPort
	sent, next uint64 // datagrams sent; the number at which to connect
}

// newSameHost returns nil for a port that shares no memory, such as one bound to any address: it does not know to
// which of its addresses others send.
func newSameHost(p *port) *sameHost {
	if !p.d.s.localMemory || p.local.Addr().IsUnspecified() {
		return nil
	}
	return &sameHost{p: p}
}

// send is Port.Send. It goes through memory if that is shared with the port at dest.
func (sh *sameHost) send(dest netip.AddrPort, parts [][]byte, seg int) error {
	m := sh.last
	if m == nil || m.at != dest {
		if dest.Addr() == sh.far {
			return sh.p.sendOut(dest, parts, seg)
		}
		if m = sh.peer(dest); m == nil {
			err := sh.p.sendOut(dest, parts, seg)
			sh.count(dest)
			return err
		}
		sh.last = m
	}
	total, count := 0, 1
	for _, b := range parts {
		total += len(b)
	}
	if seg > 0 && seg < total {
		count = (total + seg - 1) / seg
	}
	if seg >= 0 && total <= netx.MaxDatagram && m.put(parts, total, seg, count) {
		s := &sh.p.stats
		s.SentDatagrams += uint64(count)
		s.SentBytes += uint64(total)
		s.MemorySent += uint64(count)
		return nil
	}
	err := sh.p.sendOut(dest, parts, seg)
	if !m.removed {
		m.SentViaSocket()
	}
	return err
}

// peer returns the peer at an address, nil if there is none.
func (sh *sameHost) peer(at netip.AddrPort) *shmPeer {
	if sh.datapath != nil {
		for _, m := range sh.datapath.peers {
			if m.at == at {
				return m
			}
		}
	}
	return nil
}

// counter returns the counter for an address.
func (sh *sameHost) counter(at netip.AddrPort) *socketCount {
	t := &sh.counters[at.Port()%countersMax]
	if t.at != at {
		*t = socketCount{at: at, next: sh.p.d.s.meetAfter}
	}
	return t
}

// count counts a datagram that went through the socket, and connects to its destination when the number for it is
// reached.
func (sh *sameHost) count(at netip.AddrPort) {
	t := sh.counter(at)
	if t.sent++; t.sent >= t.next && !sh.p.closed {
		sh.connect(t)
	}
}

// room reports whether one more peer may be added.
func (sh *sameHost) room() bool {
	return (sh.datapath == nil || len(sh.datapath.peers) < shmPeersMax) && sh.p.d.shmPeers < domainShmPeers
}

// connect tries to share memory with the port at an address, if it is on this host. It waits until passes read the
// socket directly, as memory is not used before.
func (sh *sameHost) connect(t *socketCount) {
	p := sh.p
	if !p.main.direct || p.xdp != nil || t.at == p.local || t.at.Port() == 0 || !sh.room() {
		t.next = t.sent + p.d.s.meetAfter
		return
	}
	to := t.at
	if !samehost.Addresses(p.local.Addr(), to.Addr()) {
		t.next, sh.far = never, to.Addr()
		return
	}
	t.next = 2 * t.sent
	name := shmSocketName(to)
	c, err := samehost.Dial(trust.Datagrams, name)
	switch {
	case err == syscall.ECONNREFUSED:
		sh.listen()
	case err != nil:
	case !samehost.Namespaces(c.FD(), p.main.fd) || !sh.owned(to, c, name):
		c.Close()
	default:
		sh.offer(c, to)
	}
}

// offer sends a hello with memory to the port at `to`, and begins to use the memory. If that port refuses, its flag
// "awake" is never set, and nothing is written.
func (sh *sameHost) offer(c *samehost.Conn, to netip.AddrPort) {
	if err := c.Greet(appendShmHello(nil, sh.p.local, to), true); err != nil || c.Rings == nil {
		c.Close()
		return
	}
	sh.start(&shmPeer{Conn: c, sh: sh, at: to, ours: true})
}

// use begins to receive from m.
func (sh *sameHost) use(m *shmPeer) {
	s := sh.p.main
	if sh.datapath == nil {
		sh.datapath = newSHMDatapath(s)
		s.datapath = sh.datapath
	}
	sh.datapath.peers = append(sh.datapath.peers, m)
	sh.p.d.shmPeers++
	m.SetPolling(sh.datapath.awake)
}

// unuse ends use.
func (sh *sameHost) unuse(m *shmPeer) {
	if sh.last == m {
		sh.last = nil
	}
	if l := sh.datapath; l != nil {
		if i := slices.Index(l.peers, m); i >= 0 {
			l.peers = slices.Delete(l.peers, i, i+1)
			l.first = 0
			sh.p.d.shmPeers--
		}
	}
}

// drain delivers what peers have written until now. It first stops them from writing more. The receiver may close
// the port.
func (sh *sameHost) drain() {
	l := sh.datapath
	if l == nil {
		return
	}
	for _, m := range l.peers {
		m.SetPolling(false)
	}
	for range drainMost {
		if sh.datapath == nil || !l.waiting() {
			return
		}
		sh.p.main.receive()
	}
}

// drainMost is the number of receives that deliver all that the memories can hold: the shortest records take 8
// bytes, and a record of 64 KiB may fill a receive.
const drainMost = shmPeersMax * shm.RingSize / 8 / shmBatch

// close removes all peers, and leaves the socket with its own datapath.
func (sh *sameHost) close() {
	if sh.listener != nil {
		sh.listener.Close()
	}
	if sh.datapath != nil {
		sh.p.main.datapath = sh.datapath.end()
		sh.datapath = nil
	}
}
