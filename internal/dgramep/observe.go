package dgramep

import (
	"gofabric/internal/endpoint"
	"gofabric/internal/telemetry"
)

// ObservePeers implements endpoint.Observed. It reports nothing, as datagrams have no connections.
func (e *dgramEndpoint) ObservePeers(func(endpoint.PeerView) bool) {}

// ObserveCounts implements endpoint.Observed.
func (e *dgramEndpoint) ObserveCounts(c telemetry.Counts) {
	s := e.port.Stats()
	s.Observe(c)
	if e.early.dropped > 0 {
		c["drops.unposted"] += e.early.dropped
	}
	c["posted_receives"] += uint64(e.posted.Len())
	c["pending_operations"] += uint64(e.waiting.Len())
}
