package engine

import "gofabric/internal/xnet/wire"

// Single-copy transfers (cross memory attach). A large message between two processes of one host is only announced: the
// receiver copies it out of the sender's memory. Through a socket every byte would be copied twice, and would cross
// from core to core twice.
//
//	sender                                      receiver
//	hello (who I am)                     ->
//	                                     <-     challenge (16 random bytes, a local socket), or refuse
//	shows itself at the socket, with them
//	proof (they are at this address)     ->
//	                                     <-     ready: I have read them there; or refuse
//	sealed (message, ranges, seal)       ->
//	                                     <-     done; or cts: I could not copy it, send it
//
// Each direction agrees by itself when it has its first large message. Until then, and if the peer refuses, messages go
// through the connection. The socket proves which process reads which (Invitation): the system says which process of
// which user has come there, and that process says of which connection it speaks. So neither can name a third one. The
// challenge proves that this process can be read, and by the number that it has here.
// docs/decisions/0026-same-host-trust.md has the attacks that this ends.
//
// Each message has a seal of its own (seal.go). The sender breaks the seal before it gives the buffer back for any
// reason but the receiver's done. The receiver copies the message first and looks at the seal last. It delivers the
// message only if the seal was whole. docs/decisions/0023-seals.md proves that a message that is delivered is then the
// one that was sent.

// Identity says which process one is.
type Identity = wire.Hello

// CMA copies from other processes of this host.
type CMA interface {
	// Identity says which process this is.
	Identity() *Identity
	// Invite waits for the process of a peer at a socket; nil: it cannot.
	Invite() Invitation
	// Show shows, at the socket that c names, that this process is at the end of the connection e, its own view. A
	// process that is not believed is refused by the peer.
	Show(c *wire.Challenge, e *Ends)
	// Address is the address of b for a peer. b must stay where it is.
	Address(b []byte) uint64
	// NewSeals returns memory for the seals of a connection.
	NewSeals() Seals
	// Copy copies a message that a peer has announced, and looks at the seal after that.
	Copy(r *CMARequest) CMAResult
}

// Invitation is a socket where a peer's process is to show itself. One of the last two methods closes it.
type Invitation interface {
	// Challenge returns bytes that cannot be guessed, and where the socket is, for the peer.
	Challenge() *wire.Challenge
	// Met reports whether the system says that a process of this user has come, with the challenge and for the
	// connection e, that its id is pid, and that it is alive and has the challenge at an address of its memory.
	// Anything else is refused for good, and logged.
	Met(e *Ends, pid uint32, at uint64) bool
	// Close ends the wait.
	Close()
}

// Ends says which connection of this host one is, as one of its ends sees it.
type Ends struct {
	Space       uint64       // the network name space; 0 where the system does not tell
	Local, Peer [EndLen]byte // 16 bytes of IP address, u16 big-endian port
}

// EndLen is the length of an address in Ends.
const EndLen = 18

// CMARequest says what to copy from a peer's process, and where to.
type CMARequest struct {
	PID    uint32        // of the peer's process
	Seal   [SealLen]byte // must be at SealAt after the copy
	SealAt uint64        // an address of the peer's
	From   []wire.RMAIov // ranges of the peer's memory; Key is not used
	Into   [][]byte      // as many bytes altogether
}

// CMAResult says how a copy ended.
type CMAResult uint8

const (
	Unreadable CMAResult = iota // the memory cannot be read: Into may have changed
	Unsealed                    // the seal is broken: the content of Into means nothing
	Copied                      // all was copied while the seal was whole
)

// cmaMax is the longest message that is copied so, bytes: the copy is made in one piece, under the lock of the
// receiver's domain.
const cmaMax = 64 << 20

// cma holds how far the two ends of a connection have agreed about copies between them. Messages for the peer are built
// in out, which its methods are given; a nil message says nothing.
type cma struct {
	asked      bool // we have said which process we are
	waits      bool // and the peer has not answered to the end
	shown      bool // the peer has challenged us, and was told where cell is
	peerCopies bool // the peer copies from us
	copies     bool // we copy from the peer
	greeted    bool // the peer has said which process it is

	invited   Invitation // of the peer that has said so, until it has proved it
	ends      Ends
	pid       uint32
	challenge [SealLen]byte // ours for the peer
	cell      [SealLen]byte // the peer's for us; it reads it here
	request   CMARequest
	remote    [MaxIOV]wire.RMAIov
	local     [MaxIOV][]byte
}

// near reports whether the peer may be on this host, and notes where the ends are.
func (m *cma) near(way func() (Ends, bool)) (ok bool) {
	m.ends, ok = way()
	return ok
}

// ask begins, if that was not done before: the peer is told which process this is.
func (m *cma) ask(by CMA, way func() (Ends, bool), out []byte) []byte {
	if m.asked {
		return nil
	}
	m.asked = true
	if !m.near(way) {
		return nil // the peer need not know which process this is
	}
	m.waits = true
	return by.Identity().Append(out)
}

// refusal tells the peer not to announce messages.
func (m *cma) refusal(out []byte) []byte { return wire.AppendExtIndex(out, wire.ExtRefuse, 0) }

// hello answers a peer that wants its memory to be read. A nil by refuses.
func (m *cma) hello(b []byte, by CMA, way func() (Ends, bool), out []byte) ([]byte, error) {
	h, err := wire.ParseHello(b)
	if err != nil || m.greeted {
		return nil, ErrProtocol
	}
	m.greeted = true
	if by == nil || !m.near(way) {
		return m.refusal(out), nil
	}
	me := by.Identity()
	// A peer that claims to be this process must know its secret; else it could have us read our own memory.
	if h.Host != me.Host || h.PIDNS != me.PIDNS || (h.PID == me.PID) != (h.Process == me.Process) {
		return m.refusal(out), nil
	}
	v := by.Invite()
	if v == nil {
		return m.refusal(out), nil
	}
	m.invited, m.pid, m.challenge = v, h.PID, v.Challenge().Seal
	return v.Challenge().Append(out), nil
}

// challenged puts the peer's challenge where it can read it, and shows it which process this is.
func (m *cma) challenged(b []byte, by CMA, out []byte) ([]byte, error) {
	c, err := wire.ParseChallenge(b)
	if err != nil || !m.waits || m.shown {
		return nil, ErrProtocol
	}
	m.cell, m.shown = c.Seal, true
	by.Show(&c, &m.ends)
	return wire.AppendProof(out, by.Address(m.cell[:])), nil
}

// proof checks which process has come, and reads the challenge in its memory.
func (m *cma) proof(b []byte, out []byte) ([]byte, error) {
	at, err := wire.ParseProof(b)
	if err != nil || m.invited == nil {
		return nil, ErrProtocol
	}
	met := m.invited.Met(&m.ends, m.pid, at)
	m.invited = nil
	if !met {
		return m.refusal(out), nil
	}
	m.copies = true
	return wire.AppendExtIndex(out, wire.ExtReady, 0), nil
}

// ready takes the peer's word that it can read our memory.
func (m *cma) ready() error {
	if !m.shown {
		return ErrProtocol
	}
	m.peerCopies, m.waits = true, false
	return nil
}

// refused takes the peer's word that it does not read our memory.
func (m *cma) refused() { m.peerCopies, m.waits = false, false }

// close ends the wait for the peer's process.
func (m *cma) close() {
	if m.invited != nil {
		m.invited.Close()
		m.invited = nil
	}
}

// copy copies a message of the peer's, as far as there is room in into.
func (m *cma) copy(by CMA, at *heldBack, into [][]byte) CMAResult {
	from := trim(m.remote[:copy(m.remote[:], at.ranges)], sum(into))
	m.request = CMARequest{PID: m.pid, Seal: wire.Seal(&m.challenge, at.seal.number), SealAt: at.seal.at, From: from, Into: into}
	got := by.Copy(&m.request)
	m.request = CMARequest{}
	clear(into)
	return got
}

// trim shortens ranges to n bytes altogether.
func trim(iov []wire.RMAIov, n uint64) []wire.RMAIov {
	for i := range iov {
		if iov[i].Len >= n {
			iov[i].Len = n
			if n == 0 {
				return iov[:i]
			}
			return iov[:i+1]
		}
		n -= iov[i].Len
	}
	return iov
}
