package engine

import "gofabric/internal/xnet/wire"

// Single-copy transfers (cross-memory attach, process_vm_readv(2)). A large message between two processes of one
// host is only announced, and the receiver copies it out of the sender's memory. Through a socket every byte would
// be copied twice, and would cross from core to core twice.
//
//	sender                                      receiver
//	hello (identity)                     ->
//	                                     <-     challenge (16 random bytes, a local socket), or refuse
//	shows them at the socket
//	proof (their address)                ->
//	                                     <-     ready: read there; or refuse
//	sealed (message, ranges, seal)       ->
//	                                     <-     done; or cts: could not copy it, send it
//
// Each direction agrees separately when it has its first large message. Until then, and if the peer refuses,
// messages go through the connection.
//
// The socket proves which process reads which (Invitation): the kernel reports which process of which user has
// connected there, and that process says for which connection. So neither end can name a third process. The
// challenge proves that the process can be read, under the process id that it has here.
// docs/decisions/0026-same-host-trust.md has the attacks that this prevents.
//
// Each message has a seal of its own (seal.go). The sender breaks the seal before it gives the buffer back for any
// reason except the receiver's done. The receiver copies the message first, and reads the seal afterwards. It
// delivers the message only if the seal was whole. docs/decisions/0023-seals.md proves that a delivered message is
// then the one that was sent.

// Identity says which process this is.
type Identity = wire.Hello

// CMA copies from other processes of this host.
type CMA interface {
	// Identity returns the identity of this process.
	Identity() *Identity
	// Invite opens a socket for the peer's process. nil: it cannot.
	Invite() Invitation
	// Prove proves, at the socket that c names, that this process is at the end e of the connection, as this end
	// sees it. The peer refuses a process that it does not believe.
	Prove(c *wire.Challenge, e *Ends)
	// Address returns the address of b for a peer. b must not move.
	Address(b []byte) uint64
	// NewSeals returns memory for the seals of a connection.
	NewSeals() Seals
	// Copy copies a message that a peer has announced, and reads the seal afterwards.
	Copy(r *CMARequest) CMAResult
}

// Invitation is a socket where the peer's process must prove itself. Verify or Close closes it.
type Invitation interface {
	// Challenge returns the random bytes and the name of the socket, for the peer.
	Challenge() *wire.Challenge
	// Verify reports whether, according to the kernel, a process of this user has connected with the challenge for the
	// connection e, has this pid, is alive, and has the challenge at this address of its memory. Everything else is
	// refused for good and logged.
	Verify(e *Ends, pid uint32, at uint64) bool
	// Close ends the wait.
	Close()
}

// Ends are the addresses of a connection on this host, as one of its ends sees it.
type Ends struct {
	Space       uint64       // network namespace; 0 if the system has none
	Local, Peer [EndLen]byte // 16 bytes of IP address, u16 big-endian port
}

// EndLen is the length of an address in Ends, in bytes.
const EndLen = 18

// CMARequest describes a copy from a peer's process.
type CMARequest struct {
	PID    uint32        // of the peer's process
	Seal   [SealLen]byte // must be at SealAt after the copy
	SealAt uint64        // an address in the peer's memory
	From   []wire.RMAIov // ranges of the peer's memory; Key is not used
	Into   [][]byte      // the same number of bytes altogether
}

// CMAResult is the result of a copy.
type CMAResult uint8

const (
	Unreadable CMAResult = iota // the memory cannot be read; Into may have changed
	Unsealed                    // the seal is broken: the content of Into has no meaning
	Copied                      // everything was copied while the seal was whole
)

// cmaMax is the longest message for single copy, in bytes. The copy is made in one piece, under the lock of the
// receiver's domain.
const cmaMax = 64 << 20

// cma is the state of the agreement between the two ends, in both directions. Its methods build messages for the
// peer in out; nil means no message.
type cma struct {
	asked      bool // we have sent hello
	waits      bool // the peer's final answer has not come
	proved     bool // we have answered the peer's challenge
	peerCopies bool // the peer copies our messages
	copies     bool // we copy the peer's messages
	greeted    bool // the peer has sent hello

	invited   Invitation // until the peer has proved its identity
	ends      Ends
	pid       uint32
	challenge [SealLen]byte // ours to the peer
	cell      [SealLen]byte // the peer's to us; the peer reads it here
	request   CMARequest
	remote    [MaxIOV]wire.RMAIov
	local     [MaxIOV][]byte
}

// findEnds reports whether the peer may be on this host, and stores the addresses of the ends.
func (m *cma) findEnds(way func() (Ends, bool)) (ok bool) {
	m.ends, ok = way()
	return ok
}

// ask starts the agreement, once: hello tells the peer which process this is.
func (m *cma) ask(by CMA, way func() (Ends, bool), out []byte) []byte {
	if m.asked {
		return nil
	}
	m.asked = true
	if !m.findEnds(way) {
		return nil // a peer on another host need not know the process
	}
	m.waits = true
	return by.Identity().Append(out)
}

// refusal tells the peer not to announce messages for single copy.
func (m *cma) refusal(out []byte) []byte { return wire.AppendExtIndex(out, wire.ExtRefuse, 0) }

// hello answers a peer that wants its memory to be read. A nil by refuses.
func (m *cma) hello(b []byte, by CMA, way func() (Ends, bool), out []byte) ([]byte, error) {
	h, err := wire.ParseHello(b)
	// A peer says hello once.
	if err != nil || m.greeted {
		return nil, ErrProtocol
	}
	m.greeted = true
	if by == nil || !m.findEnds(way) {
		return m.refusal(out), nil
	}
	me := by.Identity()
	// A peer that claims to be this process must know its secret; else it could have us read our own memory.
	if h.Host != me.Host || h.PIDNS != me.PIDNS || (h.PID == me.PID) != (h.Process == me.Process) {
		return m.refusal(out), nil
	}
	v := by.Invite()
	// No socket can be opened.
	if v == nil {
		return m.refusal(out), nil
	}
	m.invited, m.pid, m.challenge = v, h.PID, v.Challenge().Seal
	return v.Challenge().Append(out), nil
}

// challenged puts the peer's challenge into memory, and shows at the socket which process this is.
func (m *cma) challenged(b []byte, by CMA, out []byte) ([]byte, error) {
	c, err := wire.ParseChallenge(b)
	// A challenge answers our hello, once.
	if err != nil || !m.waits || m.proved {
		return nil, ErrProtocol
	}
	m.cell, m.proved = c.Seal, true
	by.Prove(&c, &m.ends)
	return wire.AppendProof(out, by.Address(m.cell[:])), nil
}

// proof checks which process has connected, and reads the challenge in its memory.
func (m *cma) proof(b []byte, out []byte) ([]byte, error) {
	at, err := wire.ParseProof(b)
	if err != nil || m.invited == nil {
		return nil, ErrProtocol
	}
	met := m.invited.Verify(&m.ends, m.pid, at)
	m.invited = nil
	if !met {
		return m.refusal(out), nil
	}
	m.copies = true
	return wire.AppendExtIndex(out, wire.ExtReady, 0), nil
}

// ready notes that the peer can read our memory.
func (m *cma) ready() error {
	if !m.proved {
		return ErrProtocol
	}
	m.peerCopies, m.waits = true, false
	return nil
}

// refused notes that the peer does not read our memory.
func (m *cma) refused() { m.peerCopies, m.waits = false, false }

// close ends the wait for the peer's process.
func (m *cma) close() {
	if m.invited != nil {
		m.invited.Close()
		m.invited = nil
	}
}

// copy copies a message of the peer's, as much as into has room for.
func (m *cma) copy(by CMA, at *heldBack, into [][]byte) CMAResult {
	from := trim(m.remote[:copy(m.remote[:], at.ranges)], sum(into))
	m.request = CMARequest{
		PID: m.pid, Seal: wire.Seal(&m.challenge, at.seal.number), SealAt: at.seal.at, From: from, Into: into,
	}
	got := by.Copy(&m.request)
	m.request = CMARequest{}
	clear(into)
	return got
}

// trim shortens ranges to n bytes altogether.
func trim(iov []wire.RMAIov, n uint64) []wire.RMAIov {
	for i := range iov {
		// The last range that is needed.
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
