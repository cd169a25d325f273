package peers

import (
	"gofabric/internal/conduit"
	"gofabric/internal/front"
	"gofabric/internal/telemetry"
)

// ObservePeers implements front.Observed.
func (s *Set) ObservePeers(yield func(front.PeerView) bool) {
	for c := range s.m.Conns {
		var v front.PeerView
		switch u := c.User.(type) {
		case *Peer:
			if u.c != c {
				continue // it is being left
			}
			v = front.PeerView{Conn: u.Conn, Addr: u.addr, Lane: c.Loop() << 8}
			v.Path, _ = u.Link.(front.Path)
		case *AuxConn:
			v = front.PeerView{Conn: u.Conn, Addr: u.p.addr, Lane: int(c.Index())}
			v.Path, _ = u.Link.(front.Path)
		}
		if v.Conn != nil && !yield(v) {
			return
		}
	}
}

// measure has the system's figures of a new link counted.
func (s *Set) measure(l conduit.Link) {
	if m, ok := l.(conduit.Metered); ok {
		m.Meter(&s.meter)
	}
}

// AskSystem implements front.Asking.
func (s *Set) AskSystem(limit int) { s.meter.Ask(limit) }

// ObserveCounts implements front.Observed.
func (s *Set) ObserveCounts(c telemetry.Counts) {
	if s.Denied > 0 {
		c["drops.denied"] += s.Denied
	}
	front.ObserveMeter(&s.meter, c)
}
