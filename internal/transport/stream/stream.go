// Package stream is the interface between a provider of connections and the layers above it: connections that carry the
// bytes of an engine.Conn, without the posts, completions and event queues of a MSG endpoint.
//
// The layer makes the Conn, with its own receive context, memory and sink. The provider moves its bytes. One
// progress engine's lock guards everything of a domain, including the layers above it. "Locked" below means that
// the caller holds this lock.
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

// Domain is the domain of a provider of connections as layers see it.
type Domain interface {
	core.DomainDriver
	// Progress returns the engine whose lock guards the domain's connections and the layers above.
	Progress() *progress.Engine
	// OpenListener binds a listener to info.SrcAddr. Without an address or port number, the system or the
	// provider's settings choose one. The listener accepts no connection before Listen. Not locked.
	OpenListener(info *core.Info, a Acceptor) (Listener, error)
	// Dial starts to connect to dest, from the address of info.SrcAddr if it has one. c is in state Opening. When
	// the transport is connected, up is called, locked, and calls c.Start. If the connect fails later, Failed of
	// c's sink is called. Locked.
	Dial(info *core.Info, dest netip.AddrPort, c *engine.Conn, up func()) (Conn, error)
}

// Impairable is a fabric of connections that can simulate a faulty network.
type Impairable interface {
	core.FabricDriver
	// Impair makes every connection of the fabric pass through a Stream of x, and allows nothing to bypass it. info
	// becomes the fabric's Info. It is called once, before any object is opened.
	Impair(info *core.Info, x Impairer) error
}

// Impairer makes the simulated networks between connections and their sockets.
type Impairer interface {
	// Stream returns the simulated network of a new connection. The connection ends after patience without an
	// acknowledgement; 0: never. It is safe for concurrent use.
	Stream(patience time.Duration) *impair.Stream
}

// Impaired is a Domain that may have a simulated network. If it has one, no data may bypass its connections, not even
// between processes of one host.
type Impaired interface {
	// Faults returns the sum of the counts of all connections. ok is false without an Impairer. Not locked.
	Faults() (sum impair.StreamStats, ok bool)
}

// Metered is a Conn for which the system has statistics.
type Metered interface {
	// Meter makes m read the connection's statistics until it closes. Locked.
	Meter(m *netx.Meter)
}

// Acceptor gets the connections that peers open. Its methods are called locked.
type Acceptor interface {
	// Accepted passes a connection whose request has not arrived. The acceptor gives it a passive Conn with
	// Conn.Attach. The listener bounds the number of such connections: it may fail the Conn in favour of another
	// one.
	Accepted(l Conn)
}

// Listener accepts connections of peers. Its methods must be called locked.
type Listener interface {
	// Local returns the listening address.
	Local() netip.AddrPort
	// Listen starts to accept connections.
	Listen() error
	// Close stops accepting.
	Close()
}

// Conn carries the bytes of one engine.Conn. Its methods must be called locked.
type Conn interface {
	// Local and Peer return the addresses of the transport's ends. The port of a peer that has connected is
	// ephemeral.
	Local() netip.AddrPort
	Peer() netip.AddrPort
	// Attach gives an accepted connection its engine.Conn and starts to receive. On an error the connection is closed.
	Attach(c *engine.Conn) error
	// OnMoved sets a function that is called, locked, after bytes were passed to the Conn or taken from it.
	OnMoved(f func())
	// Hold(true) stops receiving, and Hold(false) resumes it.
	Hold(on bool)
	// Posted is called when the Conn may have bytes to transmit. They leave now, or together with later data before
	// the next pass. more means that another post follows at once. Posted returns the stream that the next messages
	// may join, nil if there is none.
	Posted(more bool) *batch.Stream
	// Receive receives the bytes that are there now, like a pass.
	Receive()
	// Replied is called from Sink.Replied of the Conn. The queued data leaves soon, even if no post and no received
	// bytes follow.
	Replied()
	// Resumed is called from Sink.Resumed of the Conn.
	Resumed()
	// AtRest reports that the connection itself does nothing that the Conn cannot see, such as a move to another
	// carrier.
	AtRest() bool
	// StopReceiving is called after Conn.BeginClose. It stops receiving, unless the delivery of due data depends on
	// it.
	StopReceiving()
	// Drained is called after Conn.BeginClose. It reports that the peer's system has all due data
	// (engine.Conn.Due).
	Drained(all bool) bool
	// End shuts down the sending side of the transport. Bytes of the peer are still received, until the Conn fails.
	End()
	// Finish transmits the queued data, as far as the transport has room, and closes the connection. It does not change
	// the state of the Conn.
	Finish()
	// Close closes the connection. It does not change the state of the Conn.
	Close()
}
