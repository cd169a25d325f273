package engine

import "gofabric/internal/xnet/wire"

// Single-copy transfers: a large message between two processes of one host is announced by reference, and the receiver copies it out of the sender's
// memory. Through a socket its bytes would be copied twice, and cross from core to core twice.
//
//	sender                                   receiver
//	hello (who I am)                  ->
//	                                  <-     challenge (16 random bytes), or refuse
//	proof (they are at this address)  ->
//	                                  <-     ready: I have read them there; or refuse
//	ref (message, ranges of memory)   ->
//	                                  <-     done; or cts: it could not be read after all, send it
//
// The challenge shows that the process at the other end of the connection, and no third one that it names, is the one whose memory will be read. It is
// read again with every message. Each direction finds out for itself, when it has the first large message; until then, and if it may not be, messages
// go through the connection.

// SealLen is the length of a challenge.
const SealLen = wire.SealLen

// Identity says who a process is.
type Identity = wire.Hello

// Puller copies from other processes of this host.
type Puller interface {
	// Identity says who this process is.
	Identity() *Identity
	// Challenge returns bytes that nobody can guess.
	Challenge() [SealLen]byte
	// Address is what a peer calls b, which must stay where it is.
	Address(b []byte) uint64
	// Pull copies the remote ranges of process pid to local, as long altogether, if the seal is at sealAt there.
	Pull(pid uint32, seal *[SealLen]byte, sealAt uint64, remote []wire.RMAIov, local [][]byte) bool
}

// pullMax is the longest message that goes by reference: the copy is made in one piece, under the lock of the receiver's domain.
const pullMax = 64 << 20

// pulls is what a connection knows of its peer's memory, and of messages that are to be matched.
type pulls struct {
	carry    *carriage // of transports with a rendezvous of their own (carry.go), which have nothing of what follows
	auth     *authWay  // while both ends prove their keys, before there is anything else of this
	matches  opList    // queued, waiting for the peer to match them
	matchOut uint32    // the next number of those
	matchIn  uint32    // and of the peer's

	asked bool // hello was sent
	asks  bool // and has not been answered to the end
	lend  bool // the peer reads our memory
	pull  bool // we read the peer's
	told  bool // the peer said hello
	bye   bool // we have nothing more to say (leave.go)
	end   ending

	pid    uint32
	seal   [SealLen]byte     // the challenge for the peer
	sealAt uint64            // where the peer has it
	cell   [SealLen]byte     // the peer's challenge for us; it reads it here
	buf    [wire.MaxExt]byte // an OpExt that is coming
	out    [wire.MaxExt]byte // one that is being made
	ref    wire.Ref
	remote [MaxIOV]wire.RMAIov
	local  [MaxIOV][]byte
}

func (c *Conn) pulls() *pulls {
	if c.pul == nil {
		c.pul = &pulls{}
	}
	return c.pul
}

// wantsPull says whether a message goes by reference. The first that could asks the peer, and goes through the connection.
func (c *Conn) wantsPull(s *Send) bool {
	if c.carriage() != nil {
		return c.carriage().carries(s)
	}
	if !c.Ours || c.cfg.Puller == nil || s.Kind != KindSend && s.Kind != KindColl || s.Inject || s.Copy || s.Len() < c.cfg.PullOver || s.Len() > pullMax {
		return false
	}
	p := c.pulls()
	if !p.asked {
		p.asked, p.asks = true, true
		c.stageExt(c.cfg.Puller.Identity().Append(p.out[:0]))
	}
	return p.lend
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

// refer announces a message by reference. False: no index is free, so send it eagerly.
func (c *Conn) refer(op *TxOp) bool {
	i := c.rtsIndex()
	if i == 0 {
		return false
	}
	r := &c.pulls().ref
	*r = wire.Ref{Index: i, Tagged: op.Tagged, HasData: op.HasData, Match: op.Match, Coll: op.Kind == KindColl, Tag: op.Tag, CQData: op.Data, Size: uint64(op.Send.Len())}
	for _, b := range op.IOV[:op.NIOV] {
		if len(b) > 0 && c.carriage() == nil {
			r.IOV[r.N] = wire.RMAIov{Addr: c.cfg.Puller.Address(b), Len: uint64(len(b))}
			r.N++
		}
	}
	c.table().announce(i, op)
	op.started = true
	c.stageExt(r.Append(c.pul.out[:0]))
	return true
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
		p.lend, p.asks = p.asked && c.cfg.Puller != nil, false
	case wire.ExtRefuse:
		p.lend, p.asks = false, false
	case wire.ExtRef:
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

// helloed answers a peer that wants its memory to be read.
func (c *Conn) helloed(b []byte) error {
	p := c.pul
	h, err := wire.ParseHello(b)
	if err != nil || p.told {
		return ErrProtocol
	}
	p.told = true
	own := c.cfg.Puller
	if own == nil {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	me := own.Identity()
	// Who claims to be this process must know its secret; else it could have us read our own memory.
	if h.Host != me.Host || h.PIDNS != me.PIDNS || (h.PID == me.PID) != (h.Process == me.Process) {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	p.pid, p.seal = h.PID, own.Challenge()
	c.stageExt(wire.AppendChallenge(p.out[:0], &p.seal))
	c.answered()
	return nil
}

// challenged puts the peer's challenge where it can read it.
func (c *Conn) challenged(b []byte) error {
	p := c.pul
	seal, err := wire.ParseChallenge(b)
	if err != nil || !p.asked || p.lend || c.cfg.Puller == nil {
		return ErrProtocol
	}
	p.cell = seal
	c.stageExt(wire.AppendProof(p.out[:0], c.cfg.Puller.Address(p.cell[:])))
	c.answered()
	return nil
}

// proven reads the challenge in the peer's memory.
func (c *Conn) proven(b []byte) error {
	p := c.pul
	at, err := wire.ParseProof(b)
	if err != nil || !p.told || p.pull || p.pid == 0 || c.cfg.Puller == nil {
		return ErrProtocol
	}
	p.sealAt = at
	if !c.cfg.Puller.Pull(p.pid, &p.seal, at, nil, nil) {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	p.pull = true
	c.answerExt(wire.ExtReady, 0)
	return nil
}

// referred takes a message by reference: into the receive that waits for it, or into memory for unexpected ones, or, when that is full, it stays where it is
// until a receive comes.
func (c *Conn) referred(b []byte) error {
	p := c.pul
	r := &p.ref
	if err := r.Parse(b); err != nil || !p.pull {
		return ErrProtocol
	}
	if c.state == Broken {
		return nil // the sender takes its buffer back
	}
	if !c.takeIndex(r.Index) {
		return ErrProtocol
	}
	c.MsgsIn++
	q := &c.rx.msgs
	var op *RxOp
	if r.Coll {
		c.referredColl(r)
		return nil
	}
	if r.Tagged {
		q = &c.rx.tags
		op = c.rx.matchTag(c.Src, r.Tag, r.Size)
	} else {
		r.Tag = 0
		op = c.rx.matchMsg(c.Src, r.Size)
	}
	if op != nil {
		op.tag, op.src, op.msgLen, op.sink = r.Tag, c.Src, r.Size, c.rx.sinkFor(c.sink)
		op.hasData, op.data, op.ack = r.HasData, r.CQData, false
		c.pullInto(op, r.IOV[:r.N], r.Index)
		return nil
	}
	c.pool.hdr.Flags, c.pool.hdr.CQData = 0, r.CQData
	if r.HasData {
		c.pool.hdr.Flags = wire.FlagCQData
	}
	m := c.newMessage(q, r.Size, r.Tag)
	if !r.Match && !c.rx.closed && c.pullUnexpected(m, r.IOV[:r.N]) {
		c.freeIndex(r.Index)
		c.answerExt(wire.ExtDone, r.Index)
		return nil
	}
	m.rts, m.rtsIndex, m.ref = true, r.Index, append(m.ref[:0], r.IOV[:r.N]...)
	if c.rx.closed {
		c.rx.dropQueued(q, m)
	}
	return nil
}

// pullInto copies a message by reference into op. If it cannot be read it is asked for, as after a request to send.
func (c *Conn) pullInto(op *RxOp, ref []wire.RMAIov, index uint8) {
	if c.state != Connected {
		c.clearToSend(op, index) // which says what is wrong
		return
	}
	if c.carriage() != nil {
		c.fetch(op, ref[0].Addr, ref[1:])
		return
	}
	p := c.pul
	n, left := 0, min(op.msgLen, op.size())
	remote := trim(p.remote[:copy(p.remote[:], ref)], left)
	for i := range int(op.niov) {
		b := op.part(i)
		if k := min(uint64(len(b)), left); k > 0 {
			p.local[n] = b[:k]
			n++
			left -= k
		}
	}
	ok := n == 0 || c.cfg.Puller.Pull(p.pid, &p.seal, p.sealAt, remote, p.local[:n])
	clear(p.local[:n])
	if !ok {
		c.answerExt(wire.ExtRefuse, 0) // no more of these
		c.clearToSend(op, index)
		return
	}
	c.freeIndex(index)
	c.BytesIn += op.msgLen
	c.answerExt(wire.ExtDone, index)
	c.rx.finish(op)
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

// pullUnexpected stores a message by reference, if the budget allows all of it: a sender need not wait for a receive, as it need not for other messages.
func (c *Conn) pullUnexpected(m *message, ref []wire.RMAIov) bool {
	if m.msgLen > 0 && (c.rx.held()+m.msgLen > c.rx.Limit || c.unexpBytes+m.msgLen > c.rx.PeerLimit || c.rx.full(c)) {
		return false
	}
	p := c.pul
	if m.msgLen > 0 {
		buf := c.pool.buffer(int(m.msgLen))[:m.msgLen]
		p.local[0] = buf
		ok := c.cfg.Puller.Pull(p.pid, &p.seal, p.sealAt, ref, p.local[:1])
		p.local[0] = nil
		if !ok {
			return false
		}
		c.charge(m, uint64(cap(buf)))
		m.parts = append(m.parts, buf)
	}
	m.stored, m.conn = m.msgLen, nil
	c.BytesIn += m.msgLen
	return true
}

// pulled completes a message that the peer has copied.
func (c *Conn) pulled(b []byte) error {
	if len(b) < 2 {
		return ErrProtocol
	}
	op := c.announced(b[1])
	if op == nil {
		return ErrProtocol
	}
	c.finish(op)
	return nil
}
