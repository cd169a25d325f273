package session

import (
	"net/netip"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// Config has the properties and limits of an endpoint's engine. New replaces limits of 0 by defaults.
type Config struct {
	Epoch  uint64    // random, drawn when the endpoint is opened
	Secret [2]uint64 // random; key of the cookies
	// Rand returns random numbers. It is an argument so that simulations can be repeated.
	Rand func() uint64

	// Conn has the limits of operations.
	Conn *xengine.Config
	// Ends returns the addresses of the ends of the stream to a peer if both may be on this host
	// (xengine.Conn.Way). nil: no single copy.
	Ends func(peer netip.AddrPort) (xengine.Ends, bool)
	// Rendezvous announces large tagged messages before their payload, between gofabric peers
	// (Conn.RendezvousOver).
	Rendezvous bool
	// Auth is the endpoint's authorization key; peers must have the same. nil: the endpoint has none, and connects
	// only with peers without one. It needs Extensions. While its Key is nil, no peer gets an answer.
	Auth *xengine.Auth
	// Extensions enables the extension mode.
	Extensions bool

	MaxDatagram      int   // largest extension datagram that the endpoint receives, bytes
	NativeMTU        int   // largest native packet, bytes; the datagram provider's, 4,096 at most
	MaxUnacked       int   // packets to a native peer without acknowledgement (FI_OFI_RXD_MAX_UNACKED, fi_rxd(7))
	MaxPeers         int   // peers that contacted us first; those that the application sends to are not limited
	MaxHalfOpen      int   // native peers that have sent an RTS and not proved their address
	RecvWindow       int   // window of a flow, bytes
	PeerTimeout      int64 // how long a peer that owes something may be silent, nanoseconds
	KeepAlive        int64 // time without a datagram before an idle gofabric peer is probed, nanoseconds; 0: never
	HandshakeTimeout int64 // how long a peer may take to answer RTS, nanoseconds
}

// setDefaults replaces limits that are not set, and brings the others into their ranges.
func (c *Config) setDefaults() {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.MaxDatagram, 65507)
	def(&c.NativeMTU, 1472)
	def(&c.MaxUnacked, 128)
	def(&c.MaxPeers, 1<<16)
	def(&c.MaxHalfOpen, 1024)
	def(&c.RecvWindow, 4<<20)
	c.NativeMTU = min(max(c.NativeMTU, 512), wire.MaxDatagram)
	c.MaxUnacked = min(c.MaxUnacked, 1<<15)
	if c.PeerTimeout <= 0 {
		c.PeerTimeout = 30e9
	}
	if c.HandshakeTimeout <= 0 {
		c.HandshakeTimeout = 10e9
	}
}

// Hooks are the functions of the driver that the engine calls. They must not call the engine, except where it says
// so.
type Hooks interface {
	// Sink returns the Sink for the completions of the peer's Conn, whose User is the *Peer. Its methods Replied,
	// Resumed and Failed must call the engine's Posted, Resumed and Failed.
	Sink(p *Peer) xengine.Sink
	// PeerUp says that the handshake with p is done. For a peer that contacted us first it is the first call,
	// before anything is received.
	PeerUp(p *Peer)
	// PeerFailed says that a peer has ended with err. Its operations were completed with an error before. The
	// engine does not know p any more. The hook may call Peer.
	PeerFailed(p *Peer, err error)
	// Reverse returns the number of addr in the address vector, or xengine.AnySource.
	Reverse(addr netip.AddrPort) uint64
	// Local returns the local address of datagrams to dest.
	Local(dest netip.AddrPort) netip.AddrPort
	// MaxDatagram returns the size of the largest datagram that reaches dest without fragmentation, in bytes.
	MaxDatagram(dest netip.AddrPort) int
}

// Stats has the counts of an engine.
type Stats struct {
	Received, Sent uint64 // datagrams
	Malformed      uint64 // dropped: unknown format, cut short, or in contradiction to itself or to what is under way
	BadChecksum    uint64 // dropped: wrong checksum
	Unknown        uint64 // dropped: of no known peer or connection
	BadCookies     uint64 // RTS whose cookie was not ours, or too old
	Challenges     uint64 // RTS answered with a cookie, without keeping state
	Duplicates     uint64 // native packets received before
	OutOfOrder     uint64 // native packets that came too early; dropped, as native does
	Refused        uint64 // peers beyond Config.MaxPeers, and native packets while receives are full
	Evicted        uint64 // half-open native peers dropped for newer ones
	Retransmitted  uint64 // native packets
	AnswersLost    uint64 // answers dropped because too many waited, or too many peers without a cookie asked
	Denied         uint64 // requests of peers without our authorization key, or with a key that is not ours
	Restarts       uint64 // peers that were replaced by a new process
}
