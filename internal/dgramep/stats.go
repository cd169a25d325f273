package dgramep

import (
	"gofabric/core"
	"gofabric/internal/transport/datagram"
)

// Stats counts what an endpoint did.
type Stats struct {
	datagram.Stats
	Unposted uint64 // datagrams that came before a receive was posted and found no room to wait
	Waiting  int    // sends that wait for the port
}

// String says what the endpoint's port has to work with, for who prints it. It takes the domain's lock.
func (e *dgramEndpoint) String() string {
	e.prog.Lock()
	defer e.prog.Unlock()
	return datagram.Describe(e.port)
}

// StatsOf returns the counts of an endpoint of this package; false for another one. It takes the domain's lock.
func StatsOf(ep core.EndpointDriver) (Stats, bool) {
	e, ok := ep.(*dgramEndpoint)
	if !ok {
		return Stats{}, false
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	return Stats{e.port.Stats(), e.early.dropped, e.waiting.Len()}, true
}
