package tcp

import (
	"gofabric/internal/front"
	"gofabric/internal/netx"
	"gofabric/internal/telemetry"
)

// ObservePeers implements front.Observed: there is one.
func (ep *msgEndpoint) ObservePeers(yield func(front.PeerView) bool) {
	if ep.st != nil {
		yield(front.PeerView{Conn: ep.st.conn, Addr: ep.st.peer, Path: ep.st})
	}
}

// ObserveCounts implements front.Observed.
func (ep *msgEndpoint) ObserveCounts(telemetry.Counts) {}

// ObservePath implements front.Path: what the kernel knows, of streams that are TCP connections still.
func (s *stream) ObservePath(c telemetry.Counts) {
	if s.fd == netx.NoFD {
		return
	}
	p, ok := netx.PathOf(s.fd)
	if !ok {
		return
	}
	c["rtt"], c["min_rtt"], c["window"], c["in_flight"] = uint64(p.RTT), uint64(p.MinRTT), uint64(p.Window), uint64(p.InFlight)
	if p.Retransmitted > 0 {
		c["retransmitted"] = p.Retransmitted
	}
}
