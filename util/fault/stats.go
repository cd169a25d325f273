package fault

import (
	"gofabric/core"
	"gofabric/internal/impair"
	"gofabric/internal/transport/stream"
)

// Stats counts what happened to datagrams and connections; see its fields.
type Stats = impair.Stats

// StatsOf returns the counts of a domain of this layer, or of one that stands on it; false if there is none. It takes the domain's lock.
func StatsOf(d core.DomainDriver) (Stats, bool) {
	for d != nil {
		if f, ok := d.(interface{ Faults() Stats }); ok {
			return f.Faults(), true
		}
		if c, ok := d.(stream.Impaired); ok {
			sum, on := c.Faults()
			return sum.Packets, on
		}
		over, ok := d.(interface{ Below() core.DomainDriver })
		if !ok {
			break
		}
		d = over.Below()
	}
	return Stats{}, false
}

// StreamStats counts what happened to connections; see its fields.
type StreamStats = impair.StreamStats

// ConnectionsOf returns the counts of the connections of a domain that stands on faulty ones; false if it does not. Those of connections that wait to be
// accepted are not in it. It takes the domain's lock.
func ConnectionsOf(d core.DomainDriver) (StreamStats, bool) {
	for d != nil {
		if c, ok := d.(stream.Impaired); ok {
			return c.Faults()
		}
		over, ok := d.(interface{ Below() core.DomainDriver })
		if !ok {
			break
		}
		d = over.Below()
	}
	return StreamStats{}, false
}
