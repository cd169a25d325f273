package engine

import "gofabric/internal/xnet/wire"

// Sink takes note of events of connections. Its methods must not call the engine.
type Sink interface {
	CompletionSink
	// Requested reports a connection request on a passive connection: answer with Accept or Reject. data is borrowed.
	Requested(c *Conn, data []byte)
	// Connected reports that the connection is up, at either end; data is the peer's private data at the active end,
	// borrowed.
	Connected(c *Conn, data []byte)
	// Failed reports the end of the connection, once; data is private data that came with a refusal, borrowed.
	Failed(c *Conn, err error, data []byte)
	// Replied reports that the engine queued something of its own (an answer, an acknowledgement): transmit it soon.
	Replied(c *Conn)
	// Resumed reports that the connection takes bytes again after Stalled was true.
	Resumed(c *Conn)
}

// Mover is a transport whose streams can move: between two processes of this host, from the transport that a stream
// began on to a socket that costs less. That is the transport's affair (wire.ExtOffer, ExtMoved); the connection
// carries its messages, and its bytes go on without a gap.
type Mover interface {
	// Heard brings a message of the transport at the other end of c: an ExtOffer or ExtMoved. body, borrowed, begins
	// with the kind. It is called in the middle of Receive, and must not call the engine. An error ends the connection.
	Heard(c *Conn, kind wire.ExtKind, body []byte) error
}

// Leaver decides whether two ends that have nothing to say to each other for now part. Each says ExtBye behind the last
// that it has to say, and an end that has heard and said it closes the transport. A busy end says ExtStay instead,
// which takes the peer's ExtBye back. The methods are called in the middle of Receive.
type Leaver interface {
	// Bye says that the peer says nothing more on c, until it has our answer.
	Bye(c *Conn)
	// Stay says that the peer does not want to part.
	Stay(c *Conn)
}

// Ender is told that the peer sends no more messages. It must not call the engine.
type Ender interface{ Ended(c *Conn) }

// Config holds the limits of a domain's connections.
type Config struct {
	StageMax       int    // payload up to this many bytes is copied and coalesced
	StageLimit     int    // staged bytes per connection beyond which posts get ErrAgain
	TxDepth        int    // operations per connection that wait for transmission, acknowledgement or data
	RendezvousOver uint64 // longer tagged messages ask first, where the peer can (FI_TCP_MAX_SAVED_SIZE)
	// CMA and CMAOver make messages of at least CMAOver bytes go by single copy between processes of this host; a nil
	// CMA: never.
	CMA     CMA
	CMAOver int
	// Mover is the transport, if it knows of a better way between processes of one host; nil if not.
	Mover Mover
	// Leaver is asked when the peer wants to part for a while; nil: it is told to stay.
	Leaver Leaver
	// Ender is told when the peer sends no more messages; may be nil.
	Ender Ender
	// AtomicMax is the most bytes of operands, those to compare with included, that an atomic operation can bring to
	// the peer; 0 does not limit it further.
	AtomicMax int
	// NativeAtomics says that the peer is native: atomic operations that would crash it (atomics.Native) fail here.
	NativeAtomics bool
	// Features are ours, as peers are told when they connect (wire.FeatureExtended).
	Features uint32
	// Auth is the endpoint's authorization key, which peers must have as well; nil if it has none, and talks only to
	// those without.
	Auth *Auth
	// Prefix, of connections below rxm, appends the bytes that rxm would have sent before the payload of a message with
	// a tag in h; nil: such a message is untagged.
	Prefix func(dst []byte, h *wire.Header) []byte
	// Frugal says that bytes are kept until the peer has them: then many peers must not hold much each.
	Frugal         bool
	HandshakeNanos int64 // how long a connect or an accepted socket may take
	// InternalMax is how many read responses are queued for a peer before it is not read any more. Two ends that read
	// from each other must each accept as many as the other may have under way (its TxDepth), or they can wait for each
	// other for ever.
	InternalMax int
}

// Pool holds the free operations and buffers of a domain. It is guarded by the domain's lock.
type Pool struct {
	inboundPool

	// Scratch of whatever connection is at work.
	scratch wire.Header // the message that is being made
	done    Completion

	stagePool
	txPool
	rxPool
	tablePool
}

// NewRxContext makes a receive context whose memory comes from pool.
func NewRxContext(pool *Pool, sink CompletionSink) *RxContext {
	return &RxContext{Limit: 256 << 20, PeerLimit: 64 << 20, MinMulti: 1, Depth: 1 << 16, Sink: sink, pool: &pool.rxPool}
}
