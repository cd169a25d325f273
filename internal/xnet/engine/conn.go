package engine

import "gofabric/internal/xnet/wire"

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
	Broken // nothing can be sent, but the peer's last messages may still come
	Closed
)

func (s State) String() string {
	return [...]string{"opening", "requesting", "listening", "deciding", "connected", "broken", "closed"}[s]
}

// Traffic counts the messages and bytes of a connection.
type Traffic struct{ MsgsIn, MsgsOut, BytesIn, BytesOut uint64 }

// Terms are the features that both ends have.
type Terms struct {
	// Rendezvous says that the peer understands tagged rendezvous.
	Rendezvous bool
	// Extended says that the peer understands the operations that only gofabric knows.
	Extended bool
	// Ours says that the peer itself is of this module, with no gateway between: small messages are coalesced
	// (coalesced.go), large ones may go by single copy (cma.go).
	Ours bool
	// Agreed holds the features that both ends announced when they connected (wire.FeatureExtended and so on): the
	// lower half.
	Agreed uint16
}

// Verdicts reports whether both ends answer each remote access.
func (t *Terms) Verdicts() bool { return t.Agreed&wire.FeatureVerdicts != 0 }

// attachment holds the parts of domain and endpoint that a connection belongs to.
type attachment struct {
	pool *Pool
	cfg  *Config
	rx   *RxContext // where the peer's stream is at
	mem  Memory
	sink Sink
}

// operations are those of this end that are not complete.
type operations struct {
	waiting   opList // posted before the connection was up, or held back by a fence
	acks      opList // transmitted, waiting for the peer's acknowledgement
	reads     opList // waiting for read responses
	ops       int32  // of the application, not complete
	waits     int32  // those of them in waiting
	fetching  uint32 // bytes of results that fetching atomics will bring
	expected  int32  // messages that a Collector waits for
	releasing bool   // see release
	txID      uint8  // the number of the next header
	// The peer's receive context (group.go): of the operation posted next, and where our stream is at.
	nextContext, atContext uint8
}

// serving counts answers that the peer has asked for and not taken yet.
type serving struct {
	replies int32  // answers to reads that are queued
	results uint32 // bytes of results of atomic operations that are queued
}

// answerState holds the state of answers, in both directions. A connection has it from the first answer on.
type answerState struct {
	budget   answerBudget
	verdicts verdicts
	refusals refusals
}

// extState holds the state of messages that only peers of this module exchange, and of rare features: authorization, and
// transports that carry payload out of band. A connection has it from the first of these on.
type extState struct {
	cma     cma
	matches matches
	goodbye goodbye
	saidBye bool          // ExtBye was queued: nothing more may be said
	oob     *outOfBand    // nil: none; with it, there is no single copy
	auth    *authExchange // while both ends prove their keys, before there is anything else of this

	in  [wire.MaxExt]byte // an OpExt that is coming
	out [wire.MaxExt]byte // an OpExt that is being made
	ref wire.Ref
}

// Conn is one connection to a peer. It puts together machines that do not know it: the parser of the incoming stream,
// the outgoing queue, and those of single features.
type Conn struct {
	// User is the driver's.
	User any
	Traffic
	Terms
	source
	attachment
	operations
	serving

	deadline int64 // of the handshake, 0 none
	state    State

	in      inbound
	out     outQueue
	rdv     rendezvous
	answers *answerState // nil before the first answer and the first write with a verdict
	ext     *extState    // nil before it is needed

	// Way returns where the ends are, if both may be on this host; nil: there is no single copy.
	Way func() (e Ends, ok bool)
}

// NewActive makes the connection of a connect call. The driver opens the transport and calls Start when it is up.
func NewActive(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink, nowNanos int64) *Conn {
	c := NewWaiting(pool, cfg, rx, mem, sink)
	c.deadline = nowNanos + cfg.HandshakeNanos
	return c
}

// NewPassive makes the connection of an accepted transport. Attach gives it its receive side before Accept.
func NewPassive(pool *Pool, cfg *Config, sink Sink, nowNanos int64) *Conn {
	c := NewActive(pool, cfg, nil, nil, sink, nowNanos)
	c.state = Listening
	return c
}

// NewReady makes a connection that is up from the start, for transports with a handshake of their own. There is no byte
// swapping. Set Src, Extended and Rendezvous as was agreed with the peer. Sink.Connected is not called.
func NewReady(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) *Conn {
	c := NewWaiting(pool, cfg, rx, mem, sink)
	c.state = Connected
	return c
}

// NewWaiting is NewReady for a peer that is not there yet: operations wait until Ready, or fail with Fail or Drop. It
// has no deadline of its own.
func NewWaiting(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) *Conn {
	c := &Conn{state: Opening, source: source{Src: AnySource}}
	c.Attach(pool, cfg, rx, mem, sink)
	return c
}

// Attach gives a passive connection its pool, receive context, memory and sink, when it is known to which endpoint it
// belongs.
func (c *Conn) Attach(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) {
	c.attachment = attachment{pool, cfg, rx, mem, sink}
	c.completions = sink
}

// Reconfigure gives c other limits, when it is known which kind of peer it is.
func (c *Conn) Reconfigure(cfg *Config) { c.cfg = cfg }

// SetMover gives the connections that share the configuration of c a Mover, if they have none.
func (c *Conn) SetMover(m Mover) {
	if c.cfg.Mover == nil {
		c.cfg.Mover = m
	}
}

// SetFetcher gives the connection a transport that carries large messages itself: messages of more than over bytes, and
// all else that outofband.go lists. Call it before the connection is up. Small messages are staged as ever, so over
// must not be less than Config.StageMax.
func (c *Conn) SetFetcher(by Fetcher, over int) { c.needExt().oob = &outOfBand{by: by, over: over} }

// State is where the connection stands.
func (c *Conn) State() State { return c.state }

// Deadline is when Advance must be called, 0 never.
func (c *Conn) Deadline() int64 { return c.deadline }

// Stalled reports that bytes are not wanted for now; Sink.Resumed tells when they are.
func (c *Conn) Stalled() bool { return c.in.stall != flowing }

// OverBudget reports that the peer's bytes are not taken, because its unexpected messages fill their budget.
func (c *Conn) OverBudget() bool { return c.in.stall == stallUnwanted }

// Paused reports that the connection takes no bytes until Unpause, because the peer was refused too often.
func (c *Conn) Paused() bool { return c.in.stall == stallRefused && c.state != Closed }

// Denied says that the request was made with another authorization key than ours, or that only one of the ends has one:
// Reject it.
func (c *Conn) Denied() bool { return c.in.stall == stallDenied }

// InFlight counts the application's operations that are not complete, as far as they are not copied.
func (c *Conn) InFlight() int { return int(c.ops) }

// Waiting reports whether operations wait: for the connection, before it is up or when it has failed; else behind a
// fence.
func (c *Conn) Waiting() bool { return c.waiting.head != nil }

// Owed reports that the peer has to send something of its own accord: the answer to an operation, or the rest of a
// message. Its transport must see to it that a peer that never does so is noticed.
func (c *Conn) Owed() bool { return c.ops > 0 || c.expected > 0 || !c.in.between() || !c.rdv.idle() }

// Awaited reports that something depends on Transmitted being called for the bytes that Next has handed out: an
// operation that completes with it, an answer that the peer may give, memory of the application's. If not, those bytes
// are copies, and the peer's messages may be told before it.
func (c *Conn) Awaited() bool {
	return c.ops > 0 || c.expected > 0 || c.replies > 0 || c.in.stall != flowing || !c.rdv.idle() || c.ext != nil
}

// Idle reports that nothing is under way in either direction, so that an end of the connection would not be noticed: no
// operation, no byte to transmit or half received, no rendezvous, no message of the peer that still waits for a
// receive, and no message that the peer still has to answer: its answer to an end that has closed would reset the
// transport with all that is on its way.
func (c *Conn) Idle() bool {
	return c.ops == 0 && c.expected == 0 && c.replies == 0 && c.out.empty() && c.in.idle() && c.unexpCount == 0 &&
		c.rdv.idle() && (c.ext == nil || !c.ext.cma.waits && c.ext.oob.idle())
}

// SetExpected says how many messages a Collector waits for from this peer, so that the peer's silence and its end are
// noticed.
func (c *Conn) SetExpected(n int) { c.expected = int32(n) }

// Expecting reports whether a Collector waits for messages from this peer.
func (c *Conn) Expecting() bool { return c.expected > 0 }

// LacksCollectives says that c's peer is known not to understand collective operations.
func (c *Conn) LacksCollectives() bool { return c.state == Connected && !c.Ours }

// KnowsEnd reports whether the peer understands SayEnd.
func (c *Conn) KnowsEnd() bool {
	return c.state == Connected && c.Ours && c.Agreed&wire.FeatureEnd != 0
}

// Leaving reports that we have said bye: the transport must not say anything either.
func (c *Conn) Leaving() bool { return c.ext != nil && c.ext.saidBye }

func (c *Conn) needExt() *extState {
	if c.ext == nil {
		c.ext = &extState{}
	}
	return c.ext
}

func (c *Conn) needAnswers() *answerState {
	if c.answers == nil {
		c.answers = &answerState{}
	}
	return c.answers
}

// oob is the transport that carries payload out of band, nil if there is none.
func (c *Conn) oob() *outOfBand {
	if c.ext == nil {
		return nil
	}
	return c.ext.oob
}

// auth is the exchange of proofs, nil if it has not begun or is over.
func (c *Conn) auth() *authExchange {
	if c.ext == nil {
		return nil
	}
	return c.ext.auth
}

// end is the position in our stream behind the last byte that is queued.
func (c *Conn) end() uint64 { return c.BytesOut + uint64(c.out.bytes) }
