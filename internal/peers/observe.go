package peers

import (
	"gofabric/internal/conduit"
	"gofabric/internal/front"
	"gofabric/internal/telemetry"
)

// ObservePeers implements front.Observed.
func (s *Set) ObservePeers(yield func(front.PeerView) bool) {
	for p := range s.t.all {
		v := front.PeerView{Conn: p.Conn, Addr: p.addr, Lane: int(p.role) << 8}
		v.Path, _ = p.Link.(front.Path)
		if !yield(v) {
			return
		}
		for l := range p.lanes.each {
			v := front.PeerView{Conn: l.Conn, Addr: p.addr, Lane: int(l.index)}
			v.Path, _ = l.Link.(front.Path)
			if !yield(v) {
				return
			}
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
