package fault

import (
	"gofabric/core"
	"gofabric/internal/impair"
	"gofabric/internal/transport/stream"
)

// Stats are the counters of faults; see its fields.
type Stats = impair.Stats

// over finds a T among d and the domains below it.
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

// StatsOf returns the counters of a domain of this layer, or of a domain above one. It returns false if there is
// none. It takes the domain's lock.
func StatsOf(d core.DomainDriver) (Stats, bool) {
	if f, ok := over[interface{ Faults() Stats }](d); ok {
		return f.Faults(), true
	}
	sum, on := ConnectionsOf(d)
	return sum.Packets, on
}

// StreamStats are the counters of faults of connections; see its fields.
type StreamStats = impair.StreamStats

// ConnectionsOf returns the counters of the connections of a domain over this layer, false if it is not over this
// layer. Connections that wait to be accepted are not counted. It takes the domain's lock.
func ConnectionsOf(d core.DomainDriver) (StreamStats, bool) {
	if c, ok := over[stream.Impaired](d); ok {
		return c.Faults()
	}
	return StreamStats{}, false
}
