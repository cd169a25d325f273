package engine

import (
	"net/netip"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// Config holds the properties and limits of an endpoint's engine. Zero values of limits become defaults in New.
type Config struct {
	Epoch  uint64    // random, of this opening of the endpoint
	Secret [2]uint64 // random, for cookies
	Rand   func() uint64

	// Conn holds the limits of operations.
	Conn *xengine.Config
	// Ends says where the ends of the stream to a peer are, if both may be on this host (xengine.Conn.Way); nil: nothing goes by reference.
	Ends func(peer netip.AddrPort) (xengine.Ends, bool)
	// Rendezvous lets large tagged messages ask first, between gofabric peers (Conn.RendezvousOver).
	Rendezvous bool
	// Auth is the endpoint's authorization key, which peers must have as well; nil if it has none, and talks only to those without. It needs Extensions. While
	// its Key is nil nobody is answered.
	Auth *xengine.Auth
	// Extensions switches the extension mode on.
	Extensions bool

	MaxDatagram      int   // the largest extension datagram that is received, bytes
	NativeMTU        int   // the largest native packet, bytes: what the datagram provider takes, 4,096 at most
	MaxUnacked       int   // packets to a native peer that are not acknowledged (FI_OFI_RXD_MAX_UNACKED)
	MaxPeers         int   // peers that came by themselves; those that the application speaks to are not bounded
	MaxHalfOpen      int   // native peers of which only an RTS is known
	RecvWindow       int   // of a flow, bytes
	PeerTimeout      int64 // how long a peer may be silent while it owes something, nanoseconds
	KeepAlive        int64 // after what silence an idle gofabric peer is asked whether it is there, nanoseconds; 0 never
	HandshakeTimeout int64 // how long a peer may take to answer RTS, nanoseconds
}

// setDefaults fills in limits that were not given.
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

// Hooks are what the engine asks and tells its driver. Except where it says so they must not call the engine.
type Hooks interface {
	// Sink returns what takes the completions of the peer's Conn, whose User is the *Peer. Its Replied, Resumed and Failed must call Posted,
	// Resumed and Failed of the engine.
	Sink(p *Peer) xengine.Sink
	// PeerUp tells that the handshake is done. A peer that the application did not ask for is announced so, before anything of it is received.
	PeerUp(p *Peer)
	// PeerFailed tells the end of a peer; its operations were completed with an error before. The engine has forgotten p. It may call Peer.
	PeerFailed(p *Peer, err error)
	// Reverse returns the number of an address in the address vector, xengine.AnySource if it has none.
	Reverse(addr netip.AddrPort) uint64
	// Local returns the address under which dest sees the endpoint.
	Local(dest netip.AddrPort) netip.AddrPort
	// MaxDatagram is the largest datagram that goes to dest in one piece, bytes.
	MaxDatagram(dest netip.AddrPort) int
}

// Stats counts what an engine did.
type Stats struct {
	Received, Sent uint64 // datagrams
	Malformed      uint64 // dropped: not ours, cut short, contradicting itself or what is under way
	BadChecksum    uint64 // dropped extension datagrams
	Unknown        uint64 // dropped: of no known peer or connection
	BadCookies     uint64 // RTS whose cookie was not ours, or too old
	Challenges     uint64 // RTS answered without keeping anything
	Duplicates     uint64 // native packets that were here before
	OutOfOrder     uint64 // native packets that came too early, dropped
	Refused        uint64 // peers turned away because there are too many, native packets because receives are full
	Evicted        uint64 // half-open native peers given up for newer ones
	Retransmitted  uint64 // native packets
	AnswersLost    uint64 // CTS not sent because too many waited, or too many strangers asked
	Denied         uint64 // requests of peers without our authorization key, or with one that we have not
	Restarts       uint64 // peers that came back as new ones
}
