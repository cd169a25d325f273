package engine

import (
	"gofabric/provider/tcp/wire"
)

// State is where a connection stands.
//
//	active:   Opening -> Requesting -> Connected -> Closed
//	passive:  Listening -> Deciding -> Connected -> Closed
type State uint8

const (
	Opening    State = iota // the transport is not up yet
	Requesting              // our request is out, no answer yet
	Listening               // accepted by the listener, the peer's request has not come
	Deciding                // the peer's request was told, waiting for Accept or Reject
	Connected
	Closed
)

func (s State) String() string {
	return [...]string{"opening", "requesting", "listening", "deciding", "connected", "closed"}[s]
}

// stallReason says why no more bytes are taken from a peer.
type stallReason uint8

const (
	flowing       stallReason = iota
	stallUnwanted             // its unexpected messages fill their budget
	stallReplies              // it asks for more data than it reads
	stallDecision             // it sent data before its request was answered
)

// Conn is one connection to a peer.
type Conn struct {
	// User is the driver's.
	User any
	// Src is what completions name as the source of messages.
	Src uint64
	// Rendezvous says that the peer understands tagged rendezvous.
	Rendezvous bool
	// Stats.
	MsgsIn, MsgsOut, BytesIn, BytesOut uint64

	pool *Pool
	cfg  *Config
	rx   *RxContext
	mem  Memory
	sink Sink

	state    State
	stall    stallReason
	order    wire.Order
	txID     uint8
	deadline int64 // of the handshake, 0 none

	hdr  wire.Header // the message in progress
	part []byte      // an incomplete header
	held []byte      // bytes that came after a stall
	in   incoming

	unexpBytes uint64
	unexpCount int

	out     outQueue
	waiting opList // sends posted before the connection was up
	acks    opList // transmitted, waiting for the peer's acknowledgement
	reads   opList // waiting for read responses
	rts     []*TxOp
	cts     []*RxOp
	rtsIn   [4]uint64 // rendezvous indices the peer uses: from its request to its data
	ops     int       // of the application, not complete
	replies int       // read responses queued for the peer
	answers answers

	scratch wire.Header
	done    Completion
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
	c.stageBytes(func(b []byte) []byte { return wire.AppendCM(b, wire.CMConnReq, data) })
	c.state = Requesting
	return nil
}

// Accept answers the peer's request with private data; the connection is up.
func (c *Conn) Accept(data []byte) error {
	if c.state != Deciding {
		return ErrState
	}
	if len(data) > wire.MaxCMData {
		return ErrTooLong
	}
	c.stageBytes(func(b []byte) []byte { return wire.AppendCM(b, wire.CMConnResp, data) })
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
	c.stageBytes(func(b []byte) []byte { return wire.AppendCM(b, wire.CMReject, data) })
	c.state, c.stall = Closed, flowing
	c.deadline = 0
	c.part, c.held = nil, nil
	c.waiting.each(func(op *TxOp) { c.finishErr(op, ErrClosed) })
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
	for op := c.waiting.pop(); op != nil; op = c.waiting.pop() {
		c.launch(op)
	}
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
	switch {
	case c.state == Listening && cm.Type == wire.CMConnReq:
		c.setOrder(cm)
		c.state = Deciding
		c.stall = stallDecision
		c.part = nil
		c.sink.Requested(c, cm.Data)
	case c.state == Requesting && cm.Type == wire.CMConnResp:
		c.setOrder(cm)
		c.becomeConnected(cm.Data)
	case c.state == Requesting && cm.Type == wire.CMReject:
		c.fail(ErrRefused, cm.Data)
		return nil
	default:
		c.Fail(ErrProtocol)
		return nil
	}
	return rest
}

func (c *Conn) setOrder(cm wire.CM) {
	c.order = wire.Little
	if cm.SwapNeeded {
		c.order = wire.Big
	}
}

// Fail ends the connection: every operation on it completes with err.
func (c *Conn) Fail(err error) { c.fail(err, nil) }

func (c *Conn) fail(err error, data []byte) {
	if c.state == Closed {
		c.out.drain(c, err) // what is left of a rejection
		return
	}
	c.becomeClosed(err)
	c.sink.Failed(c, err, data)
	c.waiting.each(func(op *TxOp) { c.finishErr(op, err) })
}

// Adopt takes over the sends that wait for from to come up: the peer has connected to us meanwhile, or another attempt is worth it. It may be called from
// Sink.Failed of from.
func (c *Conn) Adopt(from *Conn) {
	if c.state == Closed {
		return
	}
	for op := from.waiting.pop(); op != nil; op = from.waiting.pop() {
		from.ops--
		c.ops++
		if c.state == Connected {
			c.launch(op)
		} else {
			c.waiting.push(op)
		}
	}
}

// Waiting reports whether sends wait for the connection to come up.
func (c *Conn) Waiting() bool { return c.waiting.head != nil }

// Drop ends a connection that another one replaces: what is left of it fails with err, Sink.Failed is not called.
func (c *Conn) Drop(err error) {
	if c.state == Closed {
		c.out.drain(c, err)
		return
	}
	c.becomeClosed(err)
	c.waiting.each(func(op *TxOp) { c.finishErr(op, err) })
}

// becomeClosed gives back everything the connection holds.
func (c *Conn) becomeClosed(err error) {
	c.state = Closed
	c.deadline = 0
	c.stall = flowing
	c.part, c.held = nil, nil
	in := c.in
	c.in = incoming{}
	switch in.kind {
	case inRecv:
		c.rx.finishErr(in.op, err)
	case inRead:
		c.finishErr(in.tx, err)
	}
	for i, op := range c.cts {
		if op != nil {
			c.cts[i] = nil
			c.rx.finishErr(op, err)
		}
	}
	if c.rx != nil {
		c.rx.drop(c, err)
	}
	c.reads.each(func(op *TxOp) { c.finishErr(op, err) })
	c.acks.each(func(op *TxOp) { c.finishErr(op, err) })
	for i, op := range c.rts {
		if op != nil {
			c.rts[i] = nil
			c.finishErr(op, err)
		}
	}
	c.out.drain(c, err)
}
