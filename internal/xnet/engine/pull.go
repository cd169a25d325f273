package engine

import "gofabric/internal/xnet/wire"

// Single-copy transfers. A large message between two processes of one host is announced by reference: the receiver copies it out of the sender's memory.
// Through a socket every byte would be copied twice, and would cross from core to core twice.
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
// Each direction agrees by itself when it has its first large message (agreement.go). Until then, and if the peer refuses, messages go through the connection.
// The socket proves who reads whom (Invitation): the system says which process of which user has come there, and that process says of which connection it
// speaks. So nobody can name a third one. The challenge proves that this process can be read, and by the number that it has here. The decision record
// 0026-same-host-trust.md has the attacks that this ends.
//
// Each message has a seal of its own (seal.go). The sender breaks the seal before it gives the buffer back for any reason but the receiver's done. The receiver
// copies the message first and looks at the seal last. It delivers the message only if the seal was whole. The decision record 0023-seals.md proves that what
// is delivered is then what was sent.

// SealLen is the length of a challenge and of a seal, bytes.
const SealLen = wire.SealLen

// Identity says who a process is.
type Identity = wire.Hello

// Puller copies from other processes of this host.
type Puller interface {
	// Identity says who this process is.
	Identity() *Identity
	// Invite waits for the process of a peer at a socket; nil: it cannot.
	Invite() Invitation
	// Show shows, where c says, that this process is at the end of the connection e, its own view. Who is not believed is refused by the peer.
	Show(c *wire.Challenge, e *Ends)
	// Address is what a peer calls b, which must stay where it is.
	Address(b []byte) uint64
	// NewSeals returns memory for the seals of a connection.
	NewSeals() Seals
	// Pull copies what a peer lends, and looks at the seal after that.
	Pull(l *Loan) Pulled
}

// Invitation is a socket where a peer's process is to show itself. It is closed by one of its last two methods.
type Invitation interface {
	// Challenge is what to tell the peer: bytes that nobody can guess, and where the socket is.
	Challenge() *wire.Challenge
	// Met reports whether the system says that a process of this user has come, with the challenge and for the connection e, that its id is pid, and that it is
	// alive and has the challenge at an address of its memory. What is not so is refused for good, and logged.
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

// Loan is what a peer lends, and where it is to be copied.
type Loan struct {
	PID    uint32        // of the peer's process
	Seal   [SealLen]byte // what has to be at SealAt after the copy
	SealAt uint64        // an address of the peer's
	From   []wire.RMAIov // ranges of the peer's memory; Key is not used
	Into   [][]byte      // as many bytes altogether
}

// Pulled says what became of a Pull.
type Pulled uint8

const (
	Unreadable Pulled = iota // the memory cannot be read: Into may have changed
	Unsealed                 // the seal is broken: Into may have changed, and what it has means nothing
	Copied                   // all was copied while the seal was whole
)

// pullMax is the longest message that goes by reference, bytes: the copy is made in one piece, under the lock of the receiver's domain.
const pullMax = 64 << 20

// pulls is what a connection knows of its peer's memory, and of messages that are to be matched.
type pulls struct {
	carry    *carriage // of transports with a rendezvous of their own (carry.go), which have nothing of what follows
	auth     *authWay  // while both ends prove their keys, before there is anything else of this
	matches  opList    // queued, waiting for the peer to match them
	matchOut uint32    // the next number of those
	matchIn  uint32    // and of the peer's

	asked  bool // hello was sent
	asks   bool // and has not been answered to the end
	proved bool // the peer has challenged us, and was told where cell is
	lend   bool // the peer reads our memory
	pull   bool // we read the peer's
	told   bool // the peer said hello
	bye    bool // we have nothing more to say (leave.go)
	end    ending

	invited   Invitation // of the peer that has said hello, until it has proved who it is
	ends      Ends
	pid       uint32
	challenge [SealLen]byte     // ours for the peer
	cell      [SealLen]byte     // the peer's for us; it reads it here
	buf       [wire.MaxExt]byte // an OpExt that is coming
	out       [wire.MaxExt]byte // one that is being made
	ref       wire.Ref
	loan      Loan
	remote    [MaxIOV]wire.RMAIov
	local     [MaxIOV][]byte
}

func (c *Conn) pulls() *pulls {
	if c.pul == nil {
		c.pul = &pulls{}
	}
	return c.pul
}

// stageExt queues an OpExt with this payload.
func (c *Conn) stageExt(payload []byte) {
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpExt}
	h.SetPayload(uint64(len(payload)))
	t := c.chunkFor(wire.MaxHeader + len(payload))
	from := len(t.b)
	t.b = append(c.appendHeader(t.b, h), payload...)
	c.staged(t, from, nil, false)
}

// answerExt queues an OpExt that answers the peer.
func (c *Conn) answerExt(kind wire.ExtKind, index uint8) {
	c.stageExt(wire.AppendExtIndex(c.pul.out[:0], kind, index))
	c.answered()
}

// startExt makes room for the payload of an OpExt. A verdict that is all in b is taken at once; startExt returns how many bytes it took.
func (c *Conn) startExt(b []byte) int {
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	n := c.pool.hdr.PayloadLen()
	if n <= uint64(len(b)) && wire.ExtKind(b[0]).IsVerdict() {
		if c.judge(b[:n]) != nil {
			c.Fail(ErrProtocol)
		}
		return int(n)
	}
	in := c.expect(inExt, n)
	in.n = 1
	in.segs[0] = c.pulls().buf[:n]
	return 0
}

// endExt does what an OpExt of n bytes is for.
func (c *Conn) endExt(n int) {
	p := c.pul
	b := p.buf[:n]
	var err error
	switch wire.ExtKind(b[0]) {
	case wire.ExtHello:
		err = c.helloed(b)
	case wire.ExtChallenge:
		err = c.challenged(b)
	case wire.ExtProof:
		err = c.proven(b)
	case wire.ExtReady:
		err = c.admitted()
	case wire.ExtRefuse:
		p.lend, p.asks = false, false
	case wire.ExtRef, wire.ExtSealed:
		err = c.referred(b)
	case wire.ExtDone:
		err = c.pulled(b)
	case wire.ExtMatched:
		err = c.matchedBy(b)
	case wire.ExtEnd:
		c.hearEnd(wire.EndsAll(b))
	case wire.ExtBye, wire.ExtStay:
		c.leaving(wire.ExtKind(b[0]))
	case wire.ExtAccepted, wire.ExtRefused, wire.ExtReadRefused:
		err = c.judge(b)
	case wire.ExtOffer, wire.ExtMoved:
		if m := c.cfg.Mover; m != nil {
			err = m.Heard(c, wire.ExtKind(b[0]), b)
		}
	default: // of a later version: nothing that we asked for
	}
	if err != nil && c.state != Closed {
		c.Fail(ErrProtocol)
	}
}
