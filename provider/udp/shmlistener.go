package udp

import (
	"net/netip"
	"syscall"

	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/shm"
	"gofabric/internal/trust"
)

// shmPendingMax is the most connections without a hello that a port keeps.
const shmPendingMax = 16

// shmSocketName returns the name of the local socket of the port at an address.
func shmSocketName(at netip.AddrPort) string { return samehost.Name("udp", at.String()) }

// listening reports whether other ports can connect.
func (sh *sameHost) listening() bool { return sh.listener != nil && sh.listener.FD() != netx.NoFD }

// listen opens the local socket, unless its name is taken.
func (sh *sameHost) listen() {
	if sh.listening() {
		return
	}
	name := shmSocketName(sh.p.local)
	l, err := samehost.Listen(samehost.Config{Use: trust.Datagrams, Name: name, BodyLen: shmHelloLen, Memory: shm.Possible, MaxPending: shmPendingMax,
		Progress: sh.p.d.prog, Room: sh.room, Greeted: sh.greeted})
	if err == syscall.EADDRINUSE {
		if c, err := samehost.Dial(trust.Datagrams, name); err == nil { // Dial reports a listener of another user
			c.Close()
		}
	}
	if err != nil {
		return
	}
	if !samehost.Namespaces(l.FD(), sh.p.main.fd) {
		l.Close()
		return
	}
	sh.listener = l
}

// owned reports whether the port at an address, which the other end of c claims, belongs to this user.
func (sh *sameHost) owned(at netip.AddrPort, c *samehost.Conn, name string) bool {
	return samehost.OwnsPort(at, c.FD(), trust.Datagrams, name)
}

// greeted takes a connection with the hello of another port. It closes one with an invalid hello, and one beyond
// the limit.
func (sh *sameHost) greeted(c *samehost.Conn, hello []byte) {
	from, ok := parseShmHello(hello, sh.p.local)
	if !ok || !sh.prefers(from) || !sh.owned(from, c, shmSocketName(sh.p.local)) || c.Map() != nil {
		c.Close()
		return
	}
	if old := sh.peer(from); old != nil {
		old.remove()
	}
	sh.start(&shmPeer{Conn: c, sh: sh, at: from})
}

// prefers reports whether a new connection replaces an earlier one with the same port. If two ports have connected
// to each other at once, the memory that the port with the lower address and number has made is kept. The other
// memory was never used, as its maker has not seen the peer poll.
func (sh *sameHost) prefers(at netip.AddrPort) bool {
	old := sh.peer(at)
	if old == nil {
		return sh.p.d.shmPeers < domainShmPeers
	}
	return old.Dead() || old.ours && sh.p.local.Compare(at) > 0
}
