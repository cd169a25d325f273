package peers

import (
	"gofabric/internal/endpoint"
	"gofabric/internal/telemetry"
	"gofabric/internal/transport/stream"
)

// ObservePeers implements endpoint.Observed.
func (s *Set) ObservePeers(yield func(endpoint.PeerView) bool) {
	for c := range s.m.Conns {
		var v endpoint.PeerView
		switch u := c.User.(type) {
		case *Peer:
			if u.c != c {
				continue // it is closing
			}
			v = endpoint.PeerView{Conn: u.Conn, Addr: u.addr, Index: c.Loop() << 8}
			v.Path, _ = u.Stream.(endpoint.Path)
		case *AuxConn:
			v = endpoint.PeerView{Conn: u.Conn, Addr: u.p.addr, Index: int(c.Index())}
			v.Path, _ = u.Stream.(endpoint.Path)
		}
		if v.Conn != nil && !yield(v) {
			return
		}
	}
}

// measure adds a new connection to the meter.
func (s *Set) measure(l stream.Conn) {
	if m, ok := l.(stream.Metered); ok {
		m.Meter(&s.meter)
	}
}

// QuerySystem implements endpoint.SystemQuerier.
func (s *Set) QuerySystem(limit int) { s.meter.Ask(limit) }

// ObserveCounts implements endpoint.Observed.
func (s *Set) ObserveCounts(c telemetry.Counts) {
	if s.Denied > 0 {
		c["drops.denied"] += s.Denied
	}
	endpoint.ObserveMeter(&s.meter, c)
}
