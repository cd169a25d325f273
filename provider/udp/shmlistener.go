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
	shmSocketPrefix = "gofabric-udp-"
	shmBacklog      = 16
	shmHelloTime    = 1e9 // ns until a connection must have sent its hello
)

// shmListener is the local socket to which other ports of this host connect. It is a source of the domain's progress engine.
type shmListener struct {
	sh *sameHost
	fd netx.FD
	h  *progress.Handle
}

// shmSocketName is the name of the local socket of the port at an address.
func shmSocketName(at netip.AddrPort) string { return shmSocketPrefix + at.String() }

// listen opens the local socket, unless its name is taken.
func (sh *sameHost) listen() {
	if sh.listener != nil {
		return
	}
	name := shmSocketName(sh.p.local)
	fd, err := netx.LocalListen(name, shmBacklog)
	if err == unix.EADDRINUSE {
		if fd, err = netx.LocalConnect(name); err == nil {
			sh.trusts(fd, name) // which reports another user
			netx.Close(fd)
		}
		return
	}
	if err != nil {
		return
	}
	d := &shmListener{sh: sh, fd: fd}
	if !sameNamespace(fd, sh.p.main.fd) {
		err = unix.EXDEV
	} else {
		d.h, err = sh.p.d.prog.Register(fd, d, false, netx.In)
	}
	if err != nil {
		netx.Close(fd)
		return
	}
	sh.listener = d
}

// unlisten closes it. Connections stay.
func (sh *sameHost) unlisten() {
	if d := sh.listener; d != nil {
		sh.listener = nil
		d.h.Remove()
		netx.Close(d.fd)
	}
}

// Ready implements progress.Source: a port has connected.
func (d *shmListener) Ready(bool, bool) {
	for range shmBacklog {
		fd, err := netx.LocalAccept(d.fd)
		switch {
		case err == unix.EAGAIN:
			return
		case err != nil: // descriptors have run out: a socket that stays ready for ever would keep the poller busy
			d.sh.unlisten()
			return
		case !d.sh.trusts(fd, shmSocketName(d.sh.p.local)) || !d.sh.room():
			netx.Close(fd)
		default:
			d.sh.admit(fd)
		}
	}
}

// trusts reports whether the other end of a connection belongs to the same user: others might claim any address.
func (sh *sameHost) trusts(fd netx.FD, name string) bool {
	_, ok := trust.Same(fd, trust.Datagrams, name)
	return ok
}

// owned reports whether the port at an address belongs to this user. The process at the other end of fd, the connection to name, claims that address: it may be any process
// of this user, but must not pass for another user's.
func (sh *sameHost) owned(at netip.AddrPort, fd netx.FD, name string) bool {
	uid, ok := netx.PortUser(at)
	if !ok || trust.User(uid) {
		return ok // no socket there, or it cannot be told from this thread: then no memory is shared
	}
	who, _ := netx.PeerOf(fd)
	trust.Refuse(trust.Datagrams, who, name, "the port of "+at.String()+", for which it speaks, belongs to user "+strconv.Itoa(uid))
	return false
}

// Poll implements progress.Source; it is never called for a listener.
func (d *shmListener) Poll() {}

// Expired implements progress.Source; a listener has no deadline.
func (d *shmListener) Expired(mono.Time) {}

// Lost implements progress.Source.
func (d *shmListener) Lost(error) { d.sh.unlisten() }

// admit waits for the hello of a new connection.
func (sh *sameHost) admit(fd netx.FD) {
	m := &shmPeer{sh: sh, fd: fd}
	var err error
	if m.h, err = sh.p.d.prog.Register(fd, m, false, netx.In); err != nil {
		netx.Close(fd)
		return
	}
	sh.pending = append(sh.pending, m)
	m.h.SetDeadline(mono.Now() + shmHelloTime)
	m.receiveHello()
}

// receiveHello takes the hello. A connection with an invalid one, or one too many, is closed.
func (m *shmPeer) receiveHello() {
	var b [shmHelloLen + 1]byte
	size, memory, err := netx.RecvWith(m.fd, b[:])
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	var end *shm.End
	from, ok := parseShmHello(b[:size], m.sh.p.local)
	if memory != netx.NoFD {
		if ok && m.sh.prefers(from) && m.sh.owned(from, m.fd, shmSocketName(m.sh.p.local)) {
			end, _ = shm.Open(int(memory))
		}
		netx.Close(memory)
	}
	if end == nil {
		m.remove()
		return
	}
	if old := m.sh.peer(from); old != nil {
		old.remove()
	}
	m.h.SetDeadline(0)
	m.sh.unuse(m)
	if m.start(from, end) != nil {
		end.Close()
		m.remove()
	}
}

// prefers reports whether a new connection replaces the one with the same port that there may be. Where both ports have connected to each other at once, the memory stays that
// the port with the lower address and number has made; the other one was never used, as its maker does not see it awake.
func (sh *sameHost) prefers(at netip.AddrPort) bool {
	old := sh.peer(at)
	if old == nil {
		return sh.p.d.shmPeers < domainShmPeers
	}
	return old.dead() || old.ours && sh.p.local.Compare(at) > 0
}
