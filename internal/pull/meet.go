package pull

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"

	"gofabric/internal/netx"
	"gofabric/internal/trust"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Before this process reads the memory of another one, that one shows itself: it connects to a local socket whose name the connection has told it, and says there which challenge it has
// heard, and between which sockets. The system adds which process it is, and whose. Somebody who stands between two processes and passes on what they say to each other gets nothing by that:
// the process that shows itself says that it speaks with him, and not with us. Names of abstract sockets and the numbers of sockets belong to one network name space, so
// that no two connections have the same ends.

const (
	meetPrefix  = "gofabric-meet-"
	meetBacklog = 16
	meetMost    = 64 // invitations of this process: with more the oldest ends, and its messages go through the connection
	showMagic   = "gofabric"
	showLen     = len(showMagic) + engine.SealLen + 8 + 2*engine.EndLen
)

// invitation implements engine.Invitation.
type invitation struct {
	c  wire.Challenge
	fd netx.FD
}

// invitations are those that are open, the oldest first.
var invitations struct {
	sync.Mutex
	open []*invitation
}

// Invite listens.
func (Puller) Invite() engine.Invitation {
	v := &invitation{}
	rand.Read(v.c.Seal[:]) // never fails (crypto/rand)
	rand.Read(v.c.Place[:])
	fd, err := netx.LocalListen(v.name(), meetBacklog)
	if err != nil {
		return nil
	}
	v.fd = fd
	o := &invitations
	o.Lock()
	defer o.Unlock()
	if len(o.open) == meetMost {
		o.open[0].end()
	}
	o.open = append(o.open, v)
	return v
}

func (v *invitation) name() string { return meetName(&v.c) }

func meetName(c *wire.Challenge) string { return meetPrefix + hex.EncodeToString(c.Place[:]) }

// Challenge implements engine.Invitation.
func (v *invitation) Challenge() *wire.Challenge { return &v.c }

// Close implements engine.Invitation.
func (v *invitation) Close() {
	invitations.Lock()
	v.end()
	invitations.Unlock()
}

// end closes the socket, if that has not been done; the lock is held.
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

// Met implements engine.Invitation.
func (v *invitation) Met(e *engine.Ends, pid uint32, at uint64) bool {
	invitations.Lock()
	defer invitations.Unlock()
	defer v.end()
	if v.fd == netx.NoFD {
		return false
	}
	for range 2 * meetBacklog { // who says that he has come has; strangers that go on coming do not keep us
		fd, err := netx.LocalAccept(v.fd)
		if err != nil {
			return false
		}
		heard, met := v.look(fd, e, pid, at)
		netx.Close(fd)
		if heard {
			return met
		}
	}
	return false
}

// look looks at somebody who has come. heard says that he had heard the challenge, and met that he is who he is to be.
func (v *invitation) look(fd netx.FD, e *engine.Ends, pid uint32, at uint64) (heard, met bool) {
	who, ok := trust.Same(fd, trust.Copies, v.name())
	if !ok {
		return false, false
	}
	var b [showLen + 1]byte
	n, errno := netx.Recv(fd, b[:])
	if errno != 0 || n != showLen || string(b[:len(showMagic)]) != showMagic || [engine.SealLen]byte(b[len(showMagic):]) != v.c.Seal {
		return false, false
	}
	if theirs := parseEnds(b[len(showMagic)+engine.SealLen:]); !facing(e, &theirs) {
		trust.Refuse(trust.Copies, who, v.name(), "it speaks on another connection than the one that names it")
		return true, false
	}
	if uint32(who.PID) != pid || pid == 0 {
		trust.Refuse(trust.Copies, who, v.name(), fmt.Sprintf("the connection says that it is process %d", pid))
		return true, false
	}
	process, err := netx.PeerProcess(fd, who)
	if err != nil {
		return true, false
	}
	defer netx.Close(process)
	// A process that lives after the memory of its number was read had that number when it was read.
	l := engine.CMARequest{PID: pid, Seal: v.c.Seal, SealAt: at}
	return true, pull(&l) == engine.Copied && netx.Alive(process)
}

// Show implements engine.CMA.
func (Puller) Show(c *wire.Challenge, e *engine.Ends) {
	fd, err := netx.LocalConnect(meetName(c))
	if err != nil {
		return
	}
	defer netx.Close(fd)
	if _, ok := trust.Same(fd, trust.Copies, meetName(c)); !ok {
		return
	}
	b := append(make([]byte, 0, showLen), showMagic...)
	netx.Send(fd, appendEnds(append(b, c.Seal[:]...), e), false)
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

// facing reports whether two views are of one connection.
func facing(mine, theirs *engine.Ends) bool {
	return mine.Space == theirs.Space && one(&mine.Local, &theirs.Peer) && one(&mine.Peer, &theirs.Local)
}

// one reports whether an end, as itself and its peer see it, is one. Who is bound to any address has the port on all of them.
func one(a, b *[engine.EndLen]byte) bool {
	return [2]byte(a[16:]) == [2]byte(b[16:]) && (a[16] != 0 || a[17] != 0) && (anywhere(a) || anywhere(b) || *a == *b)
}

// anywhere reports whether the address is the unspecified one, of IPv6 or, mapped, of IPv4.
func anywhere(a *[engine.EndLen]byte) bool {
	ip := [16]byte(a[:16])
	return ip == [16]byte{} || ip == [16]byte{10: 0xff, 11: 0xff}
}
