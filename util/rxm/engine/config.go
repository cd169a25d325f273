package engine

import "gofabric/util/rxm/wire"

// Config is how to talk to a peer. Zero values mean native's defaults.
type Config struct {
	RemoteConn uint64 // the peer's index for us (wire.ConnIndex), which our packets carry
	BufferSize int    // the peer's receive buffers, bytes of payload (FI_OFI_RXM_BUFFER_SIZE)
	EagerLimit int    // the longest message in one packet; both ends have the same
	SARLimit   int    // the longest message in segments (FI_OFI_RXM_SAR_LIMIT)
	// RndvWrite: receivers of announced messages have them written instead of reading them (FI_OFI_RXM_USE_RNDV_WRITE). Both ends have the same.
	RndvWrite bool
	// Spread: Lower is several connections, and its operations may overtake each other but for messages of one group.
	Spread bool
	// FlowControl: both ends have asked for credits. Natively only connections of verbs do.
	FlowControl bool
	RxSize      int // receives that we say are posted, with FlowControl
}

// rxSize is how many receives are posted by default.
const rxSize = 128

// rxLeast is how many there must be, so that the packets that tell of receives do not use them up.
const rxLeast = 4

func (c *Config) fill() {
	if c.BufferSize <= 0 {
		c.BufferSize = wire.BufferSize
	}
	if c.EagerLimit <= 0 {
		c.EagerLimit = c.BufferSize
	}
	switch {
	case c.EagerLimit > wire.SegmentMax:
		c.SARLimit = c.EagerLimit
	case c.SARLimit <= 0:
		c.SARLimit = 8 * c.EagerLimit
	default:
		c.SARLimit = max(c.SARLimit, c.EagerLimit)
	}
	if c.RxSize <= 0 {
		c.RxSize = rxSize
	}
	c.RxSize = max(c.RxSize, rxLeast)
}

// AtomicMax is the most bytes of operands of an atomic operation, those to compare with included, that fit into a packet: for the Conn's Config.AtomicMax.
func (c *Config) AtomicMax() int {
	d := *c
	d.fill()
	return d.BufferSize - wire.AtomicLen
}
