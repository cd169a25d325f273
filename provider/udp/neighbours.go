package udp

import (
	"math"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/shm"
)

// Ports find those that they could share memory with by what they send: after meetAfter datagrams to another port of this host, the sender connects to a local socket whose name follows from the destination's address (unix(7): abstract names belong to the network name space, as UDP
// ports do). Nobody listens there: then it listens itself, for the other one may do the same, and tries again after twice as many. So a port that talks to
// nobody of this host has one socket, and a native neighbour costs a handful of calls.

const (
	meetAfter   = 32 // datagrams to a neighbour before the first try, unless FI_UDP_LOCAL_MEMORY_AFTER says otherwise
	never       = math.MaxUint64
	matesMax    = 16 // of a port: each pass looks at all of them
	domainMates = 32 // of a domain: each has 520 KiB
	tallies     = 64 // neighbours whose datagrams are counted
)

// neighbours is what a port knows of others of this host.
type neighbours struct {
	p       *port
	last    *mate       // of the last send to one
	far     netip.Addr  // of another host, found last
	link    *memoryLink // nil: there was no mate yet
	half    []*mate     // have connected, and not said hello
	door    *door       // nil: nobody can connect
	tallies [tallies]tally
}

// tally counts the datagrams that went to a neighbour through the socket. One takes the place of another.
type tally struct {
	at         netip.AddrPort
	sent, next uint64 // datagrams; how many it takes until we try to connect
}

// newNeighbours returns nil for ports that share no memory. One that is bound to any address cannot say under which of them it is known.
func newNeighbours(p *port) *neighbours {
	if !p.d.s.localMemory || p.local.Addr().IsUnspecified() {
		return nil
	}
	return &neighbours{p: p}
}

// send is Port.Send, through memory if that is shared with the port at dest.
func (ns *neighbours) send(dest netip.AddrPort, parts [][]byte, seg int) error {
	m := ns.last
	if m == nil || m.at != dest {
		if dest.Addr() == ns.far {
			return ns.p.sendOut(dest, parts, seg)
		}
		if m = ns.mate(dest); m == nil {
			err := ns.p.sendOut(dest, parts, seg)
			ns.count(dest)
			return err
		}
		ns.last = m
	}
	total, count := 0, 1
	for _, b := range parts {
		total += len(b)
	}
	if seg > 0 && seg < total {
		count = (total + seg - 1) / seg
	}
	if seg >= 0 && total <= netx.MaxDatagram && m.put(parts, total, seg, count) {
		s := &ns.p.stats
		s.SentDatagrams += uint64(count)
		s.SentBytes += uint64(total)
		s.MemorySent += uint64(count)
		return nil
	}
	err := ns.p.sendOut(dest, parts, seg)
	if m.End != nil {
		m.SentAside()
	}
	return err
}

// mate finds the mate at an address; nil if there is none.
func (ns *neighbours) mate(at netip.AddrPort) *mate {
	if ns.link != nil {
		for _, m := range ns.link.mates {
			if m.at == at {
				return m
			}
		}
	}
	return nil
}

// tally is that of an address.
func (ns *neighbours) tally(at netip.AddrPort) *tally {
	t := &ns.tallies[at.Port()%tallies]
	if t.at != at {
		*t = tally{at: at, next: ns.p.d.s.meetAfter}
	}
	return t
}

// count counts a datagram that went through the socket, and tries to share memory with whom it went to when it is time.
func (ns *neighbours) count(at netip.AddrPort) {
	t := ns.tally(at)
	if t.sent++; t.sent >= t.next && !ns.p.closed {
		ns.seek(t)
	}
}

// room reports whether there may be one more mate.
func (ns *neighbours) room() bool {
	held := len(ns.half)
	if ns.link != nil {
		held += len(ns.link.mates)
	}
	return held < matesMax && ns.p.d.mates < domainMates
}

// seek tries to share memory with a neighbour, if it is one. While passes do not read the socket directly that would be of no use.
func (ns *neighbours) seek(t *tally) {
	p := ns.p
	if !p.main.direct || p.xdp != nil || t.at == p.local || t.at.Port() == 0 || !ns.room() {
		t.next = t.sent + p.d.s.meetAfter
		return
	}
	to := t.at
	if !together(to.Addr(), p.local.Addr()) {
		t.next, ns.far = never, to.Addr()
		return
	}
	t.next = 2 * t.sent
	fd, err := netx.LocalConnect(doorName(to))
	if err == unix.ECONNREFUSED {
		ns.open()
	}
	if err != nil {
		return
	}
	if !ns.trusts(fd, doorName(to)) || !sameSpace(fd, p.main.fd) || !ns.owned(to, fd, doorName(to)) || !ns.greet(fd, to) {
		netx.Close(fd)
	}
}

// greet offers memory to the port at to, which fd is connected to, and begins to use it, for a port that does not want it will not be awake there. If it
// cannot, fd is the caller's to close.
func (ns *neighbours) greet(fd netx.FD, to netip.AddrPort) bool {
	p := ns.p
	end, memory, err := shm.Create()
	if err != nil {
		return false
	}
	n, err := netx.SendWith(fd, appendHello(nil, p.local, to), netx.FD(memory))
	netx.Close(netx.FD(memory))
	m := &mate{ns: ns, fd: fd, ours: true}
	if err == nil && n == helloLen {
		if m.h, err = p.d.prog.Register(fd, m, false, netx.In); err == nil {
			if err = m.becomeUp(to, end); err == nil {
				return true
			}
			m.h.Remove()
		}
	}
	end.Close()
	return false
}

// use begins to look at the memory of m.
func (ns *neighbours) use(m *mate) {
	s := ns.p.main
	if ns.link == nil {
		ns.link = newMemoryLink(s)
		s.link = ns.link
	}
	ns.link.mates = append(ns.link.mates, m)
	ns.p.d.mates++
	m.SetAwake(ns.link.awake)
}

// unuse ends that, or the wait for a hello.
func (ns *neighbours) unuse(m *mate) {
	if i := slices.Index(ns.half, m); i >= 0 {
		ns.half = slices.Delete(ns.half, i, i+1)
	}
	if ns.last == m {
		ns.last = nil
	}
	if l := ns.link; l != nil {
		if i := slices.Index(l.mates, m); i >= 0 {
			l.mates = slices.Delete(l.mates, i, i+1)
			l.first = 0
			ns.p.d.mates--
		}
	}
}

// drain brings what mates have written until now, as far as they stop then; the receiver may close the port.
func (ns *neighbours) drain() {
	l := ns.link
	if l == nil {
		return
	}
	for _, m := range l.mates {
		m.SetAwake(false)
	}
	for range drainMost {
		if ns.link == nil || !l.waiting() {
			return
		}
		ns.p.main.receive()
	}
}

// drainMost is how many receives bring all that can be in the memories: the shortest records take 8 bytes, and one of 64 KiB may be alone.
const drainMost = matesMax * shm.RingSize / 8 / memoryBatch

// close ends everything, and leaves the socket as it was.
func (ns *neighbours) close() {
	ns.shut()
	for len(ns.half) > 0 {
		ns.half[0].becomeGone()
	}
	if ns.link != nil {
		ns.p.main.link = ns.link.end()
		ns.link = nil
	}
}
