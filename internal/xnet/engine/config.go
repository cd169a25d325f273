package engine

import "gofabric/internal/xnet/wire"

// Sink receives the events of connections. Its methods must not call the engine.
type Sink interface {
	CompletionSink
	// Requested brings a connection request on a passive connection. The driver answers with Accept or Reject. data
	// is borrowed.
	Requested(c *Conn, data []byte)
	// Connected says that the connection is up, at either end. data is the peer's private data at the active end;
	// it is borrowed.
	Connected(c *Conn, data []byte)
	// Failed says once that the connection has ended. data is private data that came with a rejection; it is
	// borrowed.
	Failed(c *Conn, err error, data []byte)
	// Replied says that the engine has queued something without a post (an answer, an acknowledgement). The driver
	// must transmit it soon.
	Replied(c *Conn)
	// Resumed says that the connection takes bytes again after Stalled was true.
	Resumed(c *Conn)
}

// Mover is a transport whose streams can move to a better path: two processes of one host may continue on a local
// socket what they began over TCP (wire.ExtOffer, ExtMoved). The connection only carries the transport's messages.
// Its bytes continue without a gap.
type Mover interface {
	// Received brings a message of the transport at the other end of c: an ExtOffer or ExtMoved. body is borrowed and
	// begins with the kind. It is called within Receive and must not call the engine. An error ends the connection.
	Received(c *Conn, kind wire.ExtKind, body []byte) error
}

// Leaver decides whether two ends that have nothing to send part for some time. Each sends ExtBye behind its last
// message. An end that has sent and received it closes the transport. A busy end sends ExtStay instead, which
// cancels the peer's ExtBye. The methods are called within Receive.
type Leaver interface {
	// Bye says that the peer sends nothing more on c before it has our answer.
	Bye(c *Conn)
	// Stay says that the peer keeps the connection.
	Stay(c *Conn)
}

// Ender is called when the peer has said that it sends no more messages (ExtEnd). It must not call the engine.
type Ender interface{ Ended(c *Conn) }

// Config has the limits and features of a domain's connections.
type Config struct {
	StageMax       int    // payload up to this many bytes is copied and coalesced
	StageLimit     int    // staged bytes of a connection above which posts return ErrAgain
	TxDepth        int    // operations of a connection that are not complete above which posts return ErrAgain
	RendezvousOver uint64 // tagged messages of more bytes are announced first, if the peer can (FI_TCP_MAX_SAVED_SIZE)
	// CMA and CMAOver enable single copy for messages of at least CMAOver bytes between processes of this host.
	// nil: there is none.
	CMA     CMA
	CMAOver int
	// Mover is the transport, if its streams can move; otherwise nil.
	Mover Mover
	// Leaver decides when the peer wants to part. nil: the answer is ExtStay.
	Leaver Leaver
	// Ender is called when the peer has sent ExtEnd; may be nil.
	Ender Ender
	// AtomicMax is the most operand bytes of an atomic operation to the peer, including the comparands. 0:
	// MaxAtomic alone is the limit.
	AtomicMax int
	// NativeAtomics says that the peer is native. Atomic operations that would crash it (atomics.Native) fail here.
	NativeAtomics bool
	// Features are the features that we announce when we connect (wire.FeatureExtended and others).
	Features uint32
	// Auth is the endpoint's authorization key; peers must have the same. nil: the endpoint has none, and connects
	// only with peers without one.
	Auth *Auth
	// Prefix, for connections below rxm, appends the bytes that rxm would have sent before the payload of a message
	// whose header h has a tag. nil: such a message is untagged.
	Prefix func(dst []byte, h *wire.Header) []byte
	// Frugal says that the transport keeps bytes until the peer has them (rxd). Then many peers must not hold large
	// chunks.
	Frugal         bool
	HandshakeNanos int64 // how long a connect or an accepted socket may take, nanoseconds
	// InternalMax is how many read responses may be queued for a peer before it is not read any more. Two ends that
	// read from each other must each accept as many as the other may have under way (its TxDepth). Otherwise they
	// could wait for each other forever.
	InternalMax int
}

// Pool has the free operations and buffers of a domain. The domain's lock guards it.
type Pool struct {
	inboundPool

	// Scratch memory of the connection that is running.
	scratch wire.Header // the header that is being made
	done    Completion

	stagePool
	txPool
	rxPool
	tablePool
}

// NewRxContext makes a receive context with the default limits. Its memory comes from pool.
func NewRxContext(pool *Pool, sink CompletionSink) *RxContext {
	return &RxContext{Limit: 256 << 20, PeerLimit: 64 << 20, MinMulti: 1, Depth: 1 << 16, Sink: sink, pool: &pool.rxPool}
}
