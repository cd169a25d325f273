package gateway

import "gofabric/util/rxm/wire"

// Config has the parameters of a gateway. Values of 0 mean native's defaults. docs/wire/rxm.md, "Connecting", says
// which of them both ends must agree on.
type Config struct {
	RemoteConn uint64 // the peer's index of us (wire.ConnIndex): our packets carry it
	BufferSize int    // payload of the peer's receive buffers, bytes (FI_OFI_RXM_BUFFER_SIZE, fi_rxm(7))
	EagerLimit int    // longest message in one packet, bytes; the same at both ends
	SARLimit   int    // longest message in segments, bytes (FI_OFI_RXM_SAR_LIMIT)
	// RndvWrite has the sender of a rendezvous write the message, instead of the receiver read it
	// (FI_OFI_RXM_USE_RNDV_WRITE). It must be the same at both ends.
	RndvWrite bool
	// Spread says that Lower has auxiliary connections (FI_OFI_RXM_NUM_MSG_EPS), so that its operations may
	// overtake each other, except the messages of one group.
	Spread bool
	// FlowControl says that both ends have asked for credits when they connected. Native does so only over verbs.
	FlowControl bool
	RxSize      int // receives that we announce, with FlowControl
}

// rxSize is the default of Config.RxSize.
const rxSize = 128

// rxMin is the least Config.RxSize. With fewer the packets that bring credits would use up the credits.
const rxMin = 4

// setDefaults replaces values of 0, and brings the limits into the order that native demands.
func (c *Config) setDefaults() {
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
	c.RxSize = max(c.RxSize, rxMin)
}

// AtomicMax is the most operand bytes of an atomic operation that fit into a packet, including the comparands. It
// is the value for the Conn's Config.AtomicMax.
func (c *Config) AtomicMax() int {
	d := *c
	d.setDefaults()
	return d.BufferSize - wire.AtomicLen
}
