package engine

import (
	"math"

	"gofabric/internal/xnet/wire"
)

// The end of a connection. An end that closes in good order says ExtEnd behind its last message, transmits what is queued, and then closes the transport. The
// peer takes everything that came before the end of the stream, and knows by ExtEnd that nothing is missing (ErrGoodbye); without it the process or the path
// may have died (ErrPeerClose).

// Ender is told that the peer sends no more messages. It must not call the engine.
type Ender interface{ Ended(c *Conn) }

// ending is what a connection knows of its end.
type ending struct {
	owed uint64 // the position in our stream up to which the peer must have it before we close; owedAll while that cannot be told
	all  uint64 // the same with answers and ExtEnd
	why  error  // of Broken

	said  bool // we send no more messages
	heard bool // the peer does not
}

const owedAll = math.MaxUint64

// SayEnd queues ExtEnd: no message may be submitted afterwards. With all, we receive no more messages either. Peers that do not know the word are told nothing.
func (c *Conn) SayEnd(all bool) {
	if !c.KnowsEnd() || c.pulls().end.said && !all {
		return
	}
	c.pulls().end.said = true
	c.stageExt(wire.AppendEnd(c.pulls().out[:0], all))
	c.answered()
}

// KnowsEnd reports whether the peer understands SayEnd.
func (c *Conn) KnowsEnd() bool {
	return c.state == Connected && c.Ours && c.Agreed&wire.FeatureEnd != 0
}

// PeerEnded reports that the peer has said that it sends no more messages.
func (c *Conn) PeerEnded() bool { return c.pul != nil && c.pul.end.heard }

// hearEnd takes the peer's ExtEnd. Saying it again changes nothing.
func (c *Conn) hearEnd(all bool) {
	if e := &c.pul.end; !e.heard {
		e.heard = true
		if e := c.cfg.Ender; e != nil {
			e.Ended(c)
		}
	}
	if all && c.state == Connected {
		c.Break(ErrGoodbye)
	}
}

// Wind prepares the end from our side: operations of which nothing has left yet are withdrawn, unless the application was told already that they are done, and
// ExtEnd goes behind the rest. The driver transmits until the peer has what is Due, and then calls Drop.
func (c *Conn) Wind() {
	for c.cancel(func(op *TxOp) bool { return !op.promised() }) {
	}
	e := &c.pulls().end
	if e.owed = owedAll; c.state == Connected && c.waiting.head == nil {
		e.owed = c.owed()
	}
	c.SayEnd(true)
	if e.all = owedAll; e.owed != owedAll {
		e.all = c.BytesOut + uint64(c.out.bytes)
	}
}

// promised reports that the application takes op to be done: it will not be told (fi_inject(3)).
func (op *TxOp) promised() bool { return op.Inject }

// owed is the position in the stream behind the last byte of what the application was told is done. An operation that is half transmitted need not be.
func (c *Conn) owed() uint64 {
	q := &c.out
	at, owed := c.BytesOut, c.BytesOut
	for i := q.head; i < len(q.segs); i++ {
		s := &q.segs[i]
		if at += uint64(len(s.b)); s.op == nil && s.last || s.op != nil && s.op.promised() {
			owed = at
		}
	}
	if q.head < len(q.segs) && owed == c.BytesOut {
		if op := q.segs[q.head].op; op != nil && op.started && !op.promised() {
			sent := op.Send.Len()
			for i := q.head; i < len(q.segs) && q.segs[i].op == op; i++ {
				sent -= len(q.segs[i].b)
			}
			owed -= min(uint64(max(sent, 0)), owed)
		}
	}
	return owed
}

// Due is, after Wind, the position in our stream up to which the peer must have it before the transport is closed, BytesOut being what the transport has taken.
// With all it counts what the application knows nothing of, too: answers that were queued by then, and ExtEnd.
func (c *Conn) Due(all bool) uint64 {
	switch {
	case c.pul == nil || c.pul.end.owed == owedAll:
		return c.BytesOut + uint64(c.out.bytes)
	case all:
		return c.pul.end.all
	}
	return c.pul.end.owed
}

// Promised reports, after Wind, whether something that is Due waits for transmission.
func (c *Conn) Promised(all bool) bool {
	if c.state >= Broken {
		return false
	}
	if c.state == Connected && c.BytesOut < c.Due(all) {
		return true
	}
	for op := c.waiting.head; op != nil; op = op.next {
		if op.promised() {
			return true
		}
	}
	return false
}

// Break says that nothing can be sent any more, while what the peer has sent can still be received: what waits for transmission ends with err, and what comes
// is taken until the driver calls Fail.
func (c *Conn) Break(err error) {
	if c.state != Connected {
		c.Fail(err)
		return
	}
	c.state, c.pulls().end.why = Broken, err
	c.mute()
}

// mute drops what was queued for a peer that cannot be reached.
func (c *Conn) mute() {
	p := c.pul
	for p.matches.remove(func(op *TxOp) bool { return !op.left }) != nil { // drain ends those
	}
	c.out.drain(c, p.end.why)
	if c.said != nil {
		c.said.answers = answers{}
		c.unsettle()
	}
	c.endWaiting(p.end.why)
	if c.stall == stallReplies { // there are no replies any more
		c.unstall()
	}
}

// reason is why a connection has ended, given what the peer said before: behind ExtEnd the end of the transport, however it shows, is a goodbye.
func (c *Conn) reason(err error) error {
	switch err {
	case ErrClosed, ErrProtocol, ErrAccess, ErrPersist, ErrAuth, ErrRefused, ErrUnsupported:
		return err
	}
	if c.PeerEnded() {
		return ErrGoodbye
	}
	if c.state == Broken && err == ErrPeerClose {
		return c.pul.end.why
	}
	return err
}
