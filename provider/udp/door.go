package udp

import (
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/shm"
	"gofabric/internal/trust"
)

const (
	doorPrefix  = "gofabric-udp-"
	doorBacklog = 16
	helloTime   = 1e9 // ns that who connects has to say hello
)

// door is where neighbours connect to: a local socket. It is a source of the domain's progress engine.
type door struct {
	ns *neighbours
	fd netx.FD
	h  *progress.Handle
}

// doorName is what the local socket of the port at an address is called.
func doorName(at netip.AddrPort) string { return doorPrefix + at.String() }

// open makes sure that neighbours can connect, unless somebody else has taken the name.
func (ns *neighbours) open() {
	if ns.door != nil {
		return
	}
	name := doorName(ns.p.local)
	fd, err := netx.LocalListen(name, doorBacklog)
	if err == unix.EADDRINUSE {
		if fd, err = netx.LocalConnect(name); err == nil {
			ns.trusts(fd, name) // which says so, if it is another user
			netx.Close(fd)
		}
		return
	}
	if err != nil {
		return
	}
	d := &door{ns: ns, fd: fd}
	if !sameSpace(fd, ns.p.main.fd) {
		err = unix.EXDEV
	} else {
		d.h, err = ns.p.d.prog.Register(fd, d, false, netx.In)
	}
	if err != nil {
		netx.Close(fd)
		return
	}
	ns.door = d
}

// shut ends that. Those who have connected stay.
func (ns *neighbours) shut() {
	if d := ns.door; d != nil {
		ns.door = nil
		d.h.Remove()
		netx.Close(d.fd)
	}
}

// Ready implements progress.Source: somebody has connected.
func (d *door) Ready(bool, bool) {
	for range doorBacklog {
		fd, err := netx.LocalAccept(d.fd)
		switch {
		case err == unix.EAGAIN:
			return
		case err != nil: // descriptors have run out: a socket that stays ready for ever would keep the poller busy
			d.ns.shut()
			return
		case !d.ns.trusts(fd, doorName(d.ns.p.local)) || !d.ns.room():
			netx.Close(fd)
		default:
			d.ns.admit(fd)
		}
	}
}

// trusts reports whether the other end of a connection belongs to the same user: others might say that they are who they are not.
func (ns *neighbours) trusts(fd netx.FD, name string) bool {
	_, ok := trust.Same(fd, trust.Datagrams, name)
	return ok
}

// owned reports whether the port at an address belongs to this user: the mate with that address at the other end of fd, which goes by name, may be any process of his, but none that passes
// for another user's.
func (ns *neighbours) owned(at netip.AddrPort, fd netx.FD, name string) bool {
	uid, ok := netx.PortUser(at)
	if !ok || trust.User(uid) {
		return ok // nobody's, or this thread cannot tell: then there is no memory
	}
	who, _ := netx.PeerOf(fd)
	trust.Refuse(trust.Datagrams, who, name, "the port of "+at.String()+", for which it speaks, belongs to user "+strconv.Itoa(uid))
	return false
}

// Poll implements progress.Source; it is never called, for a door is no stream.
func (d *door) Poll() {}

// Expired implements progress.Source; a door has no deadline.
func (d *door) Expired(mono.Time) {}

// Lost implements progress.Source.
func (d *door) Lost(error) { d.ns.shut() }

// admit waits for the hello of somebody who has connected.
func (ns *neighbours) admit(fd netx.FD) {
	m := &mate{ns: ns, fd: fd}
	var err error
	if m.h, err = ns.p.d.prog.Register(fd, m, false, netx.In); err != nil {
		netx.Close(fd)
		return
	}
	ns.half = append(ns.half, m)
	m.h.SetDeadline(mono.Now() + helloTime)
	m.hear()
}

// hear takes the hello. Who says nonsense, or comes as one too many, is sent away.
func (m *mate) hear() {
	var b [helloLen + 1]byte
	size, memory, err := netx.RecvWith(m.fd, b[:])
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	var end *shm.End
	from, ok := parseHello(b[:size], m.ns.p.local)
	if memory != netx.NoFD {
		if ok && m.ns.prefers(from) && m.ns.owned(from, m.fd, doorName(m.ns.p.local)) {
			end, _ = shm.Open(int(memory))
		}
		netx.Close(memory)
	}
	if end == nil {
		m.becomeGone()
		return
	}
	if old := m.ns.mate(from); old != nil {
		old.becomeGone()
	}
	m.h.SetDeadline(0)
	m.ns.unuse(m)
	if m.becomeUp(from, end) != nil {
		end.Close()
		m.becomeGone()
	}
}

// prefers reports whether a new mate should take the place of the one that there may be with that port. Where both have connected to each other at once, the
// memory stays that the port has made whose address and number come first; the other was never used, for nobody is awake there.
func (ns *neighbours) prefers(at netip.AddrPort) bool {
	old := ns.mate(at)
	if old == nil {
		return ns.p.d.mates < domainMates
	}
	return old.dead() || old.ours && ns.p.local.Compare(at) > 0
}
