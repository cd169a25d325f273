package dgramep

import (
	"gofabric/core"
	"gofabric/internal/transport/datagram"
)

// Stats are the counters of an endpoint.
type Stats struct {
	datagram.Stats
	Unposted uint64 // datagrams lost because no receive was posted and there was no room to keep them
	Waiting  int    // sends that wait for the port
}

// String describes the endpoint's port to users. It takes the domain's lock.
func (e *dgramEndpoint) String() string {
	e.prog.Lock()
	defer e.prog.Unlock()
	return datagram.Describe(e.port)
}

// StatsOf returns the counters of an endpoint of this package, false for any other endpoint. It takes the domain's
// lock.
func StatsOf(ep core.EndpointDriver) (Stats, bool) {
	e, ok := ep.(*dgramEndpoint)
	if !ok {
		return Stats{}, false
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	return Stats{e.port.Stats(), e.early.dropped, e.waiting.Len()}, true
}
