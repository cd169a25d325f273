package dgramep

import (
	"gofabric/internal/front"
	"gofabric/internal/telemetry"
)

// ObservePeers implements front.Observed: datagrams have no connections.
func (e *endpoint) ObservePeers(func(front.PeerView) bool) {}

// ObserveCounts implements front.Observed.
func (e *endpoint) ObserveCounts(c telemetry.Counts) {
	s := e.port.Stats()
	s.Observe(c)
	if e.early.dropped > 0 {
		c["drops.unposted"] += e.early.dropped
	}
	c["posted_receives"] += uint64(e.posted.Len())
	c["pending_operations"] += uint64(e.waiting.Len())
}
