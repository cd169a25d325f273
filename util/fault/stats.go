package fault

import (
	"gofabric/core"
	"gofabric/internal/impair"
	"gofabric/internal/transport/stream"
)

// Stats counts what happened to datagrams and connections; see its fields.
type Stats = impair.Stats

// over finds a T among d and the domains that it stands on.
func over[T any](d core.DomainDriver) (t T, ok bool) {
	for d != nil {
		if t, ok = d.(T); ok {
			return t, true
		}
		o, more := d.(interface{ Below() core.DomainDriver })
		if !more {
			break
		}
		d = o.Below()
	}
	return t, false
}

// StatsOf returns the counts of a domain of this layer, or of one that stands on it; false if there is none. It takes the domain's lock.
func StatsOf(d core.DomainDriver) (Stats, bool) {
	if f, ok := over[interface{ Faults() Stats }](d); ok {
		return f.Faults(), true
	}
	sum, on := ConnectionsOf(d)
	return sum.Packets, on
}

// StreamStats counts what happened to connections; see its fields.
type StreamStats = impair.StreamStats

// ConnectionsOf returns the counts of the connections of a domain that stands on faulty ones; false if it does not. Those of connections that wait to be
// accepted are not in it. It takes the domain's lock.
func ConnectionsOf(d core.DomainDriver) (StreamStats, bool) {
	if c, ok := over[stream.Impaired](d); ok {
		return c.Faults()
	}
	return StreamStats{}, false
}
