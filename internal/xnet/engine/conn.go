package engine

import "gofabric/internal/xnet/wire"

// State is the state of a connection.
//
//	active:   Opening -> Requesting -> Connected -> (Broken ->) Closed
//	passive:  Listening -> Deciding -> Connected -> (Broken ->) Closed
type State uint8

const (
	Opening    State = iota // the transport is not up yet
	Requesting              // our request was sent, there is no answer yet
	Listening               // accepted by the listener; the peer's request has not come
	Deciding                // the driver has the peer's request and must call Accept or Reject
	Connected
	Broken // nothing can be sent, but the peer's last messages may still come
	Closed
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"opening", "requesting", "listening", "deciding", "connected", "broken", "closed"}[s]
}

// Traffic counts the messages and bytes of a connection.
type Traffic struct{ MsgsIn, MsgsOut, BytesIn, BytesOut uint64 }

// Terms are the features that both ends have.
type Terms struct {
	// Rendezvous says that the peer understands tagged rendezvous.
	Rendezvous bool
	// Extended says that the peer takes the operations of gofabric (wire.OpAtomic and others).
	Extended bool
	// Ours says that the peer is a gofabric peer without a gateway between: small messages are coalesced
	// (coalesced.go), and large ones may go by single copy (cma.go).
	Ours bool
	// Agreed is the lower half of the features that both ends announced when they connected (wire.FeatureExtended
	// and others).
	Agreed uint16
}

// Verdicts reports whether both ends report the result of each remote access.
func (t *Terms) Verdicts() bool { return t.Agreed&wire.FeatureVerdicts != 0 }

// attachment holds the parts of domain and endpoint that a connection belongs to.
type attachment struct {
	pool *Pool
	cfg  *Config
	rx   *RxContext // where the peer's messages are matched at present (group.go)
	mem  Memory
	sink Sink
}

// operations are the operations of this end that are not complete.
type operations struct {
	waiting   opList // posted before the connection was up, or held back by a fence
	acks      opList // transmitted; the peer's acknowledgement has not come
	reads     opList // transmitted; the answer has not come
	ops       int32  // of the application, not complete
	waits     int32  // operations in waiting
	fetching  uint32 // bytes of results that fetching atomic operations will bring
	expected  int32  // messages that a Collector waits for
	releasing bool   // release is running
	txID      uint8  // number of the next header
	// The peer's receive context (group.go): of the operation posted next, and of the stream at present.
	nextContext, atContext uint8
}

// serving counts answers to the peer that it has not taken yet.
type serving struct {
	replies int32  // answers to reads that are queued
	results uint32 // bytes of results of atomic operations that are queued
}

// answerState is the state of answers in both directions. A connection has it from the first answer on, because an
// idle one should be small.
type answerState struct {
	budget   answerBudget
	verdicts verdicts
	refusals refusals
}

// extState is the state of messages that only gofabric peers exchange, and of rare features: authorization, and
// transports that carry payload out of band. A connection has it when it first needs it.
type extState struct {
	cma     cma
	matches matches
	goodbye goodbye
	sentBye bool          // ExtBye was queued: nothing more may be sent
	oob     *outOfBand    // nil: none; with it, there is no single copy
	auth    *authExchange // while the ends prove their keys; nothing else of this is used before

	in  [wire.MaxExt]byte // an OpExt that is being received
	out [wire.MaxExt]byte // an OpExt that is being made
	ref wire.Ref
}

// Conn is one connection to a peer. It puts together machines that do not know it: the parser of the incoming
// stream, the outgoing queue, and those of single features. It is not safe for concurrent use; the lock of the
// domain guards it.
type Conn struct {
	// User is for the driver.
	User any
	Traffic
	Terms
	source
	attachment
	operations
	serving

	deadline int64 // of the handshake; 0: none
	state    State

	in      inbound
	out     outQueue
	rdv     rendezvous
	answers *answerState // nil before the first answer and the first write with a verdict
	ext     *extState    // nil before it is needed

	// Way returns the addresses of both ends if they may be on the same host. nil: there is no single copy.
	Way func() (e Ends, ok bool)
}

// NewActive makes the connection of a connect call (fi_connect(3)). The driver opens the transport and calls Start
// when it is up.
func NewActive(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink, nowNanos int64) *Conn {
	c := NewWaiting(pool, cfg, rx, mem, sink)
	c.deadline = nowNanos + cfg.HandshakeNanos
	return c
}

// NewPassive makes the connection of an accepted transport. Attach gives it its receive context before Accept.
func NewPassive(pool *Pool, cfg *Config, sink Sink, nowNanos int64) *Conn {
	c := NewActive(pool, cfg, nil, nil, sink, nowNanos)
	c.state = Listening
	return c
}

// NewReady makes a connection that is up from the start, for transports with a handshake of their own. Its byte
// order is little-endian. The driver sets Src, Extended and Rendezvous as agreed with the peer. Sink.Connected is
// not called.
func NewReady(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) *Conn {
	c := NewWaiting(pool, cfg, rx, mem, sink)
	c.state = Connected
	return c
}

// NewWaiting is NewReady for a peer that is not connected yet. Operations wait until Ready, or end with Fail or
// Drop. It has no deadline of its own.
func NewWaiting(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) *Conn {
	c := &Conn{state: Opening, source: source{Src: AnySource}}
	c.Attach(pool, cfg, rx, mem, sink)
	return c
}

// Attach gives a passive connection its pool, receive context, memory and sink, when the driver knows to which
// endpoint it belongs.
func (c *Conn) Attach(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) {
	c.attachment = attachment{pool, cfg, rx, mem, sink}
	c.completions = sink
}

// Reconfigure gives c other limits, when the driver knows which kind of peer it has.
func (c *Conn) Reconfigure(cfg *Config) { c.cfg = cfg }

// SetMover gives the connections that share the configuration of c a Mover, if they have none.
func (c *Conn) SetMover(m Mover) {
	if c.cfg.Mover == nil {
		c.cfg.Mover = m
	}
}

// SetFetcher gives the connection a transport that carries large messages itself: messages of more than over bytes,
// and everything else that outofband.go lists. It must be called before the connection is up. Small messages are
// staged as ever, so over must not be less than Config.StageMax.
func (c *Conn) SetFetcher(by Fetcher, over int) { c.needExt().oob = &outOfBand{by: by, over: over} }

// State returns the state of the connection.
func (c *Conn) State() State { return c.state }

// Deadline returns when Advance must be called; 0: never.
func (c *Conn) Deadline() int64 { return c.deadline }

// Stalled reports that the connection takes no bytes at present. Sink.Resumed says when it does again.
func (c *Conn) Stalled() bool { return c.in.stall != flowing }

// OverBudget reports that the connection takes no bytes because the peer's unexpected messages have used up their
// budget.
func (c *Conn) OverBudget() bool { return c.in.stall == stallUnwanted }

// Paused reports that the connection takes no bytes until Unpause, because it has refused the peer too often
// (answers.go).
func (c *Conn) Paused() bool { return c.in.stall == stallRefused && c.state != Closed }

// Denied reports that the request was made with another authorization key than ours, or that only one end has a
// key. The driver must call Reject.
func (c *Conn) Denied() bool { return c.in.stall == stallDenied }

// InFlight returns the number of the application's operations that are not complete. Operations whose payload was
// copied are complete.
func (c *Conn) InFlight() int { return int(c.ops) }

// Waiting reports whether operations wait: for the connection if it is not up or has failed, otherwise behind a
// fence.
func (c *Conn) Waiting() bool { return c.waiting.head != nil }

// Owed reports that the peer must send something of its own accord: the answer to an operation, or the rest of a
// message. The transport must detect a peer that does not.
func (c *Conn) Owed() bool { return c.ops > 0 || c.expected > 0 || !c.in.between() || !c.rdv.idle() }

// Awaited reports that something depends on when Transmitted is called for the bytes that Next has returned: an
// operation that completes with it, an answer that the peer may send, or a buffer of the application. Otherwise the
// bytes are copies, and messages of the peer may be delivered before.
func (c *Conn) Awaited() bool {
	return c.ops > 0 || c.expected > 0 || c.replies > 0 || c.in.stall != flowing || !c.rdv.idle() || c.ext != nil
}

// Idle reports that nothing is under way in either direction, so that the end of the connection would not be
// noticed: no operation, no byte to transmit or partly received, no rendezvous, no message of the peer without a
// receive, and no message that the peer must still answer. If the connection was closed then, the peer's answer
// would reset the transport, and data on its way would be lost.
func (c *Conn) Idle() bool {
	return c.ops == 0 && c.expected == 0 && c.replies == 0 && c.out.empty() && c.in.idle() && c.unexpCount == 0 &&
		c.rdv.idle() && (c.ext == nil || !c.ext.cma.waits && c.ext.oob.idle())
}

// SetExpected says how many messages a Collector expects from this peer, so that the peer's silence and its end are
// noticed.
func (c *Conn) SetExpected(n int) { c.expected = int32(n) }

// Expecting reports whether a Collector expects messages from this peer.
func (c *Conn) Expecting() bool { return c.expected > 0 }

// LacksCollectives reports that the peer does not have collective operations.
func (c *Conn) LacksCollectives() bool { return c.state == Connected && !c.Ours }

// KnowsEnd reports whether the peer has FeatureEnd, so that SayEnd has an effect.
func (c *Conn) KnowsEnd() bool {
	return c.state == Connected && c.Ours && c.Agreed&wire.FeatureEnd != 0
}

// Leaving reports that we have sent ExtBye. The transport must not send anything, either.
func (c *Conn) Leaving() bool { return c.ext != nil && c.ext.sentBye }

// needExt returns ext and makes it if there is none.
func (c *Conn) needExt() *extState {
	if c.ext == nil {
		c.ext = &extState{}
	}
	return c.ext
}

// needAnswers returns answers and makes it if there is none.
func (c *Conn) needAnswers() *answerState {
	if c.answers == nil {
		c.answers = &answerState{}
	}
	return c.answers
}

// oob returns the transport that carries payload out of band, or nil.
func (c *Conn) oob() *outOfBand {
	if c.ext == nil {
		return nil
	}
	return c.ext.oob
}

// auth returns the exchange of proofs, or nil if it has not begun or is over.
func (c *Conn) auth() *authExchange {
	if c.ext == nil {
		return nil
	}
	return c.ext.auth
}

// end is the position in our stream behind the last queued byte.
func (c *Conn) end() uint64 { return c.BytesOut + uint64(c.out.bytes) }
