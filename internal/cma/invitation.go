package cma

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"syscall"

	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/trust"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Before this process reads the memory of a peer, the peer proves its identity. It connects to a local socket whose
// name it has received over the connection. There it repeats the challenge, which it has received the same way, and
// names the two ends of the connection. The kernel adds the peer's process and user (SO_PEERCRED, unix(7)). A
// process that relays messages between two others gains nothing, because the process that connects names its
// connection to the relay, and not the relay's connection to this process. Names of abstract sockets and port
// numbers belong to one network namespace, so no two connections have the same ends.

const (
	socketPrefix   = "gofabric-meet-"
	backlog        = 16
	invitationsMax = 64 // open invitations; one more ends the oldest, whose messages go through the connection
	proofMagic     = "gofabric"
	proofLen       = len(proofMagic) + engine.SealLen + 8 + 2*engine.EndLen
)

// invitation implements engine.Invitation.
type invitation struct {
	c  wire.Challenge
	fd netx.FD
}

// invitations are the open invitations, oldest first.
var invitations struct {
	sync.Mutex
	open []*invitation
}

// Invite implements engine.CMA. It opens the local socket.
func (Copier) Invite() engine.Invitation {
	v := &invitation{}
	rand.Read(v.c.Seal[:]) // never fails (crypto/rand)
	rand.Read(v.c.Place[:])
	fd, err := netx.LocalListen(v.name(), backlog)
	if err != nil {
		return nil
	}
	v.fd = fd
	o := &invitations
	o.Lock()
	defer o.Unlock()
	if len(o.open) == invitationsMax {
		o.open[0].end()
	}
	o.open = append(o.open, v)
	return v
}

func (v *invitation) name() string { return socketName(&v.c) }

func socketName(c *wire.Challenge) string { return socketPrefix + hex.EncodeToString(c.Place[:]) }

// Challenge implements engine.Invitation.
func (v *invitation) Challenge() *wire.Challenge { return &v.c }

// Close implements engine.Invitation.
func (v *invitation) Close() {
	invitations.Lock()
	v.end()
	invitations.Unlock()
}

// end closes the socket, unless it is closed already. The caller holds the lock.
func (v *invitation) end() {
	for i, other := range invitations.open {
		if other == v {
			invitations.open = append(invitations.open[:i], invitations.open[i+1:]...)
			netx.Close(v.fd)
			v.fd = netx.NoFD
			return
		}
	}
}

// Verify implements engine.Invitation.
func (v *invitation) Verify(e *engine.Ends, pid uint32, at uint64) bool {
	invitations.Lock()
	defer invitations.Unlock()
	defer v.end()
	if v.fd == netx.NoFD {
		return false
	}
	for range 2 * backlog { // the expected peer is in the queue already, so later connections are not examined
		fd, peer, err := samehost.Accept(v.fd, trust.Copies, v.name())
		if err == syscall.EPERM {
			continue
		}
		if err != nil {
			return false
		}
		heard, met := v.look(fd, peer, e, pid, at)
		netx.Close(fd)
		if heard {
			return met
		}
	}
	return false
}

// look examines a process that has connected. heard reports that it knows the challenge. met reports that it is the
// expected process, at the expected connection.
func (v *invitation) look(fd netx.FD, peer netx.Peer, e *engine.Ends, pid uint32, at uint64) (heard, met bool) {
	var b [proofLen + 1]byte
	n, errno := netx.Recv(fd, b[:])
	if errno != 0 || n != proofLen || string(b[:len(proofMagic)]) != proofMagic || [engine.SealLen]byte(b[len(proofMagic):]) != v.c.Seal {
		return false, false
	}
	if theirs := parseEnds(b[len(proofMagic)+engine.SealLen:]); !sameConnection(e, &theirs) {
		trust.Refuse(trust.Copies, peer, v.name(), "it names another connection than the one that announced it")
		return true, false
	}
	if uint32(peer.PID) != pid || pid == 0 {
		trust.Refuse(trust.Copies, peer, v.name(), fmt.Sprintf("the connection says that it is process %d", pid))
		return true, false
	}
	process, err := netx.PeerProcess(fd, peer)
	if err != nil {
		return true, false
	}
	defer netx.Close(process)
	// A process that is alive after the memory under its PID was read had that PID during the read.
	l := engine.CMARequest{PID: pid, Seal: v.c.Seal, SealAt: at}
	return true, readSealed(&l) == engine.Copied && netx.Alive(process)
}

// Prove implements engine.CMA.
func (Copier) Prove(c *wire.Challenge, e *engine.Ends) {
	to, err := samehost.Dial(trust.Copies, socketName(c))
	if err != nil {
		return
	}
	defer to.Close()
	b := append(make([]byte, 0, proofLen), proofMagic...)
	netx.Send(to.FD(), appendEnds(append(b, c.Seal[:]...), e), false)
}

func appendEnds(b []byte, e *engine.Ends) []byte {
	b = binary.LittleEndian.AppendUint64(b, e.Space)
	b = append(b, e.Local[:]...)
	return append(b, e.Peer[:]...)
}

func parseEnds(b []byte) (e engine.Ends) {
	e.Space = binary.LittleEndian.Uint64(b)
	copy(e.Local[:], b[8:])
	copy(e.Peer[:], b[8+engine.EndLen:])
	return e
}

// sameConnection reports whether two views are of the same connection.
func sameConnection(mine, theirs *engine.Ends) bool {
	return mine.Space == theirs.Space && one(&mine.Local, &theirs.Peer) && one(&mine.Peer, &theirs.Local)
}

// one reports whether an end is the same as seen by itself and by its peer. A socket bound to the unspecified
// address has its port at all addresses.
func one(a, b *[engine.EndLen]byte) bool {
	return [2]byte(a[16:]) == [2]byte(b[16:]) && (a[16] != 0 || a[17] != 0) && (anywhere(a) || anywhere(b) || *a == *b)
}

// anywhere reports whether the address is the unspecified one, of IPv6 or of mapped IPv4.
func anywhere(a *[engine.EndLen]byte) bool {
	ip := [16]byte(a[:16])
	return ip == [16]byte{} || ip == [16]byte{10: 0xff, 11: 0xff}
}
