package endpoint

import (
	"math"
	"net/netip"

	"gofabric/internal/telemetry"
	"gofabric/internal/xnet/engine"
)

// Observed is an endpoint of a provider or layer as telemetry sees it. Its methods are called locked.
type Observed interface {
	// ObservePeers visits the endpoint's connections.
	ObservePeers(yield func(PeerView) bool)
	// ObserveCounts adds the provider's own counts (telemetry.Metrics).
	ObserveCounts(c telemetry.Counts)
}

// PeerView is a connection.
type PeerView struct {
	Conn  *engine.Conn
	Addr  netip.AddrPort // of the peer; invalid: not known
	Index int            // of several to one peer
	Path  Path           // nil if the provider has no statistics of it
}

// SystemQuerier is an Observed that can ask the system for statistics. QuerySystem is slow, so it is called without
// the lock and before the other methods. It asks about limit connections at most, and continues with the others in
// the next call.
type SystemQuerier interface{ QuerySystem(limit int) }

// Path has statistics of the connection below the stream, such as TCP's.
type Path interface{ ObservePath(c telemetry.Counts) }

// StuckDetector is a Path that detects bytes that are stuck in the system. It returns the reason, the number of bytes,
// and a token that changes when they move.
type StuckDetector interface {
	Stuck() (why string, bytes, token uint64, yes bool)
}

// Unobserved implements Observed for endpoints that use the connections of another endpoint.
type Unobserved struct{}

// ObservePeers and ObserveCounts implement Observed.
func (Unobserved) ObservePeers(func(PeerView) bool) {}
func (Unobserved) ObserveCounts(telemetry.Counts)   {}

// Forgetter is an endpoint whose peers access the domain's memory.
type Forgetter interface {
	// Forget makes all connections drop their references to a closed memory region (engine.Conn.Forget). Locked.
	Forget(key uint64)
}

// Opened adds e to the open endpoints of its domain, until Unbind, and to telemetry, until BeginClose. x is the
// provider's endpoint, which embeds e. If x is a Forgetter, the domain calls it for each region that closes.
func (e *Endpoint) Opened(x Observed) {
	e.d.Ref()
	e.observed, e.id = x, telemetry.NewID()
	e.d.open.add(e)
}

// forget implements openEndpoint.
func (e *Endpoint) forget(key uint64) {
	if f, ok := e.observed.(Forgetter); ok {
		f.Forget(key)
	}
}

// provider is the name of the endpoint's stack.
func (e *Endpoint) provider() string { return e.d.cfg.Names.Provider }

// leaveTelemetry removes the endpoint from telemetry. Its counts stay in the totals. Locked.
func (e *Endpoint) leaveTelemetry() {
	if e.observed == nil {
		return
	}
	if a, ok := e.observed.(SystemQuerier); ok {
		a.QuerySystem(math.MaxInt) // for the last time
	}
	c := telemetry.Counts{}
	e.did.add(c)
	e.observed.ObserveCounts(c)
	telemetry.Gone(e.provider(), c, e.did.latencies())
}
