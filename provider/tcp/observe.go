package tcp

import (
	"gofabric/internal/endpoint"
	"gofabric/internal/netx"
	"gofabric/internal/telemetry"
)

// ObservePeers implements endpoint.Observed. There is one connection.
func (ep *msgEndpoint) ObservePeers(yield func(endpoint.PeerView) bool) {
	if ep.st != nil {
		yield(endpoint.PeerView{Conn: ep.st.conn, Addr: ep.st.peer, Path: ep.st})
	}
}

// QuerySystem implements endpoint.SystemQuerier.
func (ep *msgEndpoint) QuerySystem(limit int) { ep.meter.Ask(limit) }

// ObserveCounts implements endpoint.Observed.
func (ep *msgEndpoint) ObserveCounts(c telemetry.Counts) { endpoint.ObserveMeter(&ep.meter, c) }

// Stuck implements endpoint.StuckDetector.
func (s *tcpStream) Stuck() (why string, bytes, token uint64, yes bool) {
	if s.metered == nil {
		return "", 0, 0, false
	}
	p, yes := s.metered.Stuck()
	why = "no acknowledgement of the sent data arrives: check the path to the peer"
	if p.InFlight == 0 {
		why = "the peer's socket buffer is full, because the peer does not read it"
	}
	return why, uint64(p.InFlight + p.Unsent), p.Acked, yes
}

// Meter implements stream.Metered.
func (s *tcpStream) Meter(m *netx.Meter) {
	if s.isOpen() {
		s.metered = m.Add(s.carrier.socket())
	}
}

// ObservePath implements endpoint.Path. It adds the kernel's statistics while the carrier is TCP.
func (s *tcpStream) ObservePath(c telemetry.Counts) {
	if s.metered == nil {
		return
	}
	p := s.metered.Path()
	endpoint.ObservePath(&p, c)
}
