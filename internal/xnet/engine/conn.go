package engine

import (
	"gofabric/internal/xnet/wire"
)

// State is where a connection stands.
//
//	active:   Opening -> Requesting -> Connected -> (Broken ->) Closed
//	passive:  Listening -> Deciding -> Connected -> (Broken ->) Closed
type State uint8

const (
	Opening    State = iota // the transport is not up yet
	Requesting              // our request is out, no answer yet
	Listening               // accepted by the listener, the peer's request has not come
	Deciding                // the peer's request was told, waiting for Accept or Reject
	Connected
	Broken // nothing can be sent, but the peer's last messages may still come (end.go)
	Closed
)

func (s State) String() string {
	return [...]string{"opening", "requesting", "listening", "deciding", "connected", "broken", "closed"}[s]
}

// stallReason says why no more bytes are taken from a peer.
type stallReason uint8

const (
	flowing       stallReason = iota
	stallUnwanted             // its unexpected messages fill their budget
	stallReplies              // it asks for more data than it reads
	stallDecision             // it sent data before its request was answered
	stallRefused              // it asks again and again for what it may not have (pause.go)
	stallDenied               // its request was made with another authorization key, and can only be rejected (auth.go)
)

// Conn is one connection to a peer.
type Conn struct {
	// User is the driver's.
	User any
	// Src is what completions name as the source of messages.
	Src uint64
	// Stats.
	MsgsIn, MsgsOut, BytesIn, BytesOut uint64
	// Rendezvous says that the peer understands tagged rendezvous.
	Rendezvous bool
	// Extended says that the peer understands the operations that only gofabric knows.
	Extended bool
	// Ours says that the peer itself is of this module, with no gateway between: small messages go in runs (run.go), large ones may go by reference (pull.go).
	Ours bool

	state     State
	stall     stallReason
	order     wire.Order
	txID      uint8
	releasing bool  // see release
	aimed     uint8 // the peer's receive context: of the next operation posted (named.go)
	aim       uint8 // that the stream is at
	// Agreed is what both ends said of themselves when they connected (wire.FeatureExtended and so on): the lower half of it.
	Agreed   uint16
	expected int32 // see SetExpected

	pool *Pool
	cfg  *Config
	rx   *RxContext
	mem  Memory
	sink Sink

	said     *speech // nil before the first answer and the first write with a verdict
	pul      *pulls  // what only peers of this module do, from the first such message on
	deadline int64   // of the handshake, 0 none

	part []byte    // an incomplete header
	held []byte    // bytes that came after a stall
	in   *incoming // the payload in progress, nil between messages

	unexpBytes uint64

	out        outQueue
	waiting    opList    // sends posted before the connection was up, or held back by a fence
	acks       opList    // transmitted, waiting for the peer's acknowledgement
	reads      opList    // waiting for read responses
	rdv        *rdvTable // nil when there is none
	ops        int32     // of the application, not complete
	waits      int32     // those of them in waiting
	fetching   uint32    // bytes of results that fetching atomics will bring
	results    uint32    // bytes of results queued for the peer
	replies    int32     // read responses queued for the peer
	unexpCount int32     // its unexpected messages

	// Way returns where the ends are, if both may be on this host; nil: nothing goes by reference.
	Way func() (e Ends, ok bool)
}

// NewActive makes the connection of a connect call. The driver opens the transport and calls Start when it is up.
func NewActive(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink, nowNanos int64) *Conn {
	c := &Conn{pool: pool, cfg: cfg, rx: rx, mem: mem, sink: sink, state: Opening, Src: AnySource}
	c.deadline = nowNanos + cfg.HandshakeNanos
	return c
}

// NewPassive makes the connection of an accepted transport. Attach gives it its receive side before Accept.
func NewPassive(pool *Pool, cfg *Config, sink Sink, nowNanos int64) *Conn {
	c := &Conn{pool: pool, cfg: cfg, sink: sink, state: Listening, Src: AnySource}
	c.deadline = nowNanos + cfg.HandshakeNanos
	return c
}

// Attach gives a passive connection its pool, receive context, memory and sink, when it is known whose it is.
func (c *Conn) Attach(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) {
	c.pool, c.cfg, c.rx, c.mem, c.sink = pool, cfg, rx, mem, sink
}

// State is where the connection stands.
func (c *Conn) State() State { return c.state }

// Stalled reports that bytes are not wanted for now; Sink.Resumed tells when they are.
func (c *Conn) Stalled() bool { return c.stall != flowing }

// Deadline is when Advance must be called, 0 never.
func (c *Conn) Deadline() int64 { return c.deadline }

// Advance tells the time.
func (c *Conn) Advance(nowNanos int64) {
	if c.deadline != 0 && nowNanos >= c.deadline && c.state != Closed {
		c.Fail(ErrTimeout)
	}
}

// Start sends the connection request with the private data, for the transport is up.
func (c *Conn) Start(data []byte) error {
	if c.state != Opening {
		return ErrState
	}
	if len(data) > wire.MaxCMData {
		return ErrTooLong
	}
	if c.cfg.Auth != nil {
		c.startAuth(data)
	} else {
		c.stageBytes(func(b []byte) []byte { return wire.AppendCMFeatures(b, wire.CMConnReq, c.cfg.Features, data) })
	}
	c.state = Requesting
	return nil
}

// Accept answers the peer's request with private data; the connection is up.
func (c *Conn) Accept(data []byte) error {
	if c.state != Deciding || c.Denied() {
		return ErrState
	}
	if len(data) > wire.MaxCMData {
		return ErrTooLong
	}
	c.stageBytes(func(b []byte) []byte { return wire.AppendCMFeatures(b, wire.CMConnResp, c.cfg.Features, data) })
	c.becomeConnected(nil)
	return nil
}

// Reject answers the peer's request with a refusal; transmit what is pending, then close the transport and call Fail or Drop, which give back what
// could not be transmitted.
func (c *Conn) Reject(data []byte) error {
	if c.state != Deciding {
		return ErrState
	}
	if len(data) > wire.MaxCMData {
		return ErrTooLong
	}
	why := uint32(0)
	if c.Denied() {
		why = wire.FeatureAuth
	}
	c.stageBytes(func(b []byte) []byte { return wire.AppendCMFeatures(b, wire.CMReject, why, data) })
	c.state, c.stall = Closed, flowing
	c.deadline = 0
	c.part, c.held = nil, nil
	c.endWaiting(ErrClosed)
	return nil
}

// becomeConnected launches what was posted meanwhile, and takes the bytes that came early.
func (c *Conn) becomeConnected(data []byte) {
	if c.state != Requesting && c.state != Deciding {
		panic("BUG: connected from state " + c.state.String())
	}
	c.state = Connected
	c.deadline = 0
	c.part = nil
	c.sink.Connected(c, data)
	if c.expected > 0 && !c.Ours {
		c.lose(ErrUnsupported)
	}
	c.release()
	if c.stall == stallDecision {
		c.unstall()
	}
}

// handshake takes the bytes of connection management and returns the rest.
func (c *Conn) handshake(b []byte) []byte {
	whole := b
	if len(c.part) > 0 {
		whole = append(c.part, b...)
	}
	cm, n, err := wire.ParseCM(whole)
	if err == wire.ErrShort {
		if len(c.part) == 0 {
			whole = append([]byte(nil), b...)
		}
		c.part = whole
		return nil
	}
	if err != nil {
		c.Fail(ErrProtocol)
		return nil
	}
	rest := whole[n:]
	keyed := c.cfg.Auth != nil
	switch {
	case cm.Type == wire.CMAuth && keyed:
		c.part = nil
		c.takeAuth(&cm)
	case c.state == Listening && cm.Type == wire.CMConnReq && c.auth() == nil:
		c.setOrder(cm)
		c.part = nil
		switch theirs := cm.Features&wire.FeatureAuth != 0; {
		case theirs != keyed:
			c.deny()
		case keyed:
			c.challenge(whole[:n], &cm)
		default:
			c.decide(cm.Data, stallDecision)
		}
	case c.state == Requesting && cm.Type == wire.CMConnResp:
		if keyed && !c.proved() {
			c.Fail(ErrAuth) // it has no key, or is native
			return nil
		}
		if keyed {
			c.pul = nil
		}
		c.setOrder(cm)
		c.becomeConnected(cm.Data)
	case c.state == Requesting && cm.Type == wire.CMReject:
		why := ErrRefused
		if cm.Features&wire.FeatureAuth != 0 {
			why = ErrAuth
		}
		c.fail(why, cm.Data)
		return nil
	default:
		c.Fail(ErrProtocol)
		return nil
	}
	return rest
}

// decide tells of a request, which waits.
func (c *Conn) decide(data []byte, wait stallReason) {
	c.state = Deciding
	c.stall = wait
	c.sink.Requested(c, data)
}

func (c *Conn) setOrder(cm wire.CM) {
	c.order = wire.Little
	c.Agreed = uint16(c.cfg.Features & cm.Features)
	if cm.SwapNeeded {
		c.order, c.Agreed = wire.Big, 0
	}
	c.Extended = c.Agreed&wire.FeatureExtended != 0
	c.Ours = c.Extended
	if !c.Ours {
		c.Agreed &^= wire.FeatureVerdicts
	}
}

// Fail ends the connection: every operation on it completes with err.
func (c *Conn) Fail(err error) { c.fail(err, nil) }

func (c *Conn) fail(err error, data []byte) {
	if c.state == Closed {
		c.out.drain(c, err) // what is left of a rejection
		return
	}
	up := c.state == Connected || c.state == Broken
	err = c.reason(err)
	c.becomeClosed(err)
	if up { // what waits for a connection may go to another; what a fence holds back does not
		c.endWaiting(err)
	}
	c.sink.Failed(c, err, data)
	c.endWaiting(err)
	c.lose(err)
}

// Adopt takes over the sends that wait for from to come up: the peer has connected to us meanwhile, or another attempt is worth it. It may be called from
// Sink.Failed of from.
func (c *Conn) Adopt(from *Conn) {
	if c.state == Closed {
		return
	}
	if from.expected > 0 {
		c.expected, from.expected = c.expected+from.expected, 0
		if u := c.rx.collector(); u != nil {
			u.Moved(from, c)
		}
		if c.Unsuited() {
			c.lose(ErrUnsupported)
		}
	}
	for op := from.waiting.pop(); op != nil; op = from.waiting.pop() {
		from.ops--
		from.waits--
		c.ops++
		c.hold(op)
	}
	c.release()
}

// Waiting reports whether sends wait, before the connection is up or when it has failed, for it; else for what a fence sets before them.
func (c *Conn) Waiting() bool { return c.waiting.head != nil }

// Drop ends a connection that another one replaces: what is left of it fails with err, Sink.Failed is not called.
func (c *Conn) Drop(err error) {
	if c.state == Closed {
		c.out.drain(c, err)
		return
	}
	c.becomeClosed(err)
	c.endWaiting(err)
	c.lose(err)
}

// becomeClosed gives back everything the connection holds.
func (c *Conn) becomeClosed(err error) {
	c.state = Closed
	c.deadline = 0
	c.stall = flowing
	c.part, c.held = nil, nil
	c.fetching, c.results = 0, 0
	if in := c.in; in != nil {
		c.in = nil
		switch in.kind {
		case inAtomic:
			c.freeAtomicIn(in.atom)
		case inRecv:
			c.rx.finishErr(in.op, err)
		case inRead:
			c.finishErr(in.tx, err)
		}
		*in = incoming{}
		c.pool.putIncoming(in)
	}
	c.endAsked(err)
	c.uninvite()
	if c.rx != nil {
		c.rx.drop(c, err)
	}
	c.reads.each(func(op *TxOp) { c.finishErr(op, err) })
	c.endCarried(err)
	c.acks.each(func(op *TxOp) { c.finishErr(op, err) })
	c.endJudged(err)
	c.endMatches(err)
	c.endAnnounced(err)
	c.out.drain(c, err)
}
