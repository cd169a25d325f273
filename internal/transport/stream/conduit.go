// Package stream is what a provider of connections offers to the layers above it: links that carry the stream of an engine.Conn, without the posts,
// completions and event queues of a MSG endpoint.
//
// The layer makes the Conn, with a receive context, memory and a sink of its own; the provider moves its bytes. Everything of a domain, the layers above it
// included, runs under the lock of one progress engine. "Locked" below means that the caller holds it.
package stream

import (
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/impair"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

// Domain is the domain of a provider of connections, as layers see it.
type Domain interface {
	core.DomainDriver
	// Progress is the engine whose lock guards the domain's links and what stands on them.
	Progress() *progress.Engine
	// OpenListener binds a listener to info.SrcAddr; without an address or port number the system or the provider's settings choose. It takes no
	// connections before Listen. Not locked.
	OpenListener(info *core.Info, a Acceptor) (Listener, error)
	// Dial starts to connect to dest, from info.SrcAddr's address if it has one. c is in state Opening; up is called, locked, when the transport is there, to
	// call c.Start. A connect that fails is told by c's sink, Failed. Locked.
	Dial(info *core.Info, dest netip.AddrPort, c *engine.Conn, up func()) (Link, error)
}

// Impairable is a fabric of connections that a layer can make suffer.
type Impairable interface {
	core.FabricDriver
	// Impair has every connection of the fabric go through what x makes, and nothing go around it. info is what the fabric is called from now on. It is called
	// before anything is opened, once.
	Impair(info *core.Info, x Impairer) error
}

// Impairer makes what stands between connections and their sockets.
type Impairer interface {
	// Stream is for a new connection, whose ends bear silence for patience, 0 for ever. Any goroutine.
	Stream(patience time.Duration) *impair.Stream
}

// Impaired is a Domain that knows whether it stands for a network with faults: then nothing may go around its links, not even between processes of one host.
type Impaired interface {
	// Faults adds up what happened to the domain's connections; false if there is no Impairer. Not locked.
	Faults() (sum impair.StreamStats, ok bool)
}

// Metered is a Link of which the system knows what becomes of its bytes.
type Metered interface {
	// Meter has m watch the link until it is closed. Locked.
	Meter(m *netx.Meter)
}

// Acceptor takes the connections that peers open. Its methods are called locked.
type Acceptor interface {
	// Accepted brings one whose request has not come. The acceptor gives it a passive Conn with Link.Attach. The listener bounds how many there are: it may
	// fail the Conn in favour of another one.
	Accepted(l Link)
}

// Listener is where peers connect to. Its methods must be called locked.
type Listener interface {
	// Local is the address listened on.
	Local() netip.AddrPort
	// Listen starts to take connections.
	Listen() error
	// Close stops listening.
	Close()
}

// Link carries the bytes of one Conn. Its methods must be called locked.
type Link interface {
	// Local and Peer are the addresses of both ends of the transport; a peer that connected does so from a port of no meaning.
	Local() netip.AddrPort
	Peer() netip.AddrPort
	// Attach gives an accepted link its Conn and starts to take bytes. An error has closed the link.
	Attach(c *engine.Conn) error
	// OnMoved has f called, locked, each time after bytes were given to the Conn, or taken from it.
	OnMoved(f func())
	// Hold stops taking bytes, or goes on.
	Hold(on bool)
	// Posted tells that the Conn may have bytes to transmit; they leave now, or with what follows before the next pass. With more another post follows.
	// It returns the stream that messages which follow may join; nil if there is none.
	Posted(more bool) *batch.Stream
	// Receive takes what there is now, as a pass does.
	Receive()
	// Replied follows Sink.Replied of the Conn: what was queued leaves soon, though no post and nothing received may follow.
	Replied()
	// Resumed follows Sink.Resumed of the Conn.
	Resumed()
	// AtRest reports that nothing is under way that the Conn does not know of.
	AtRest() bool
	// StopReceiving, after Conn.BeginClose, stops taking what the peer sends, unless what is due depends on it.
	StopReceiving()
	// Drained reports, after Conn.BeginClose, that nothing is left to transmit of what is due (engine.Conn.Due), and that the peer's system has it.
	Drained(all bool) bool
	// End tells the peer's transport that nothing more comes. What the peer still says is taken, until the Conn fails.
	End()
	// Finish transmits what the Conn still has to say as far as the transport takes it at once, and closes the link. The Conn is left as it is.
	Finish()
	// Close closes the link. The Conn is left as it is.
	Close()
}
