package rxd

import (
	"gofabric/core"
	"gofabric/internal/transport/datagram"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/session"
)

// Stats are the counters of an endpoint.
type Stats struct {
	session.Stats
	Port  datagram.Stats
	Flows flow.Counts // of all gofabric peers, including past ones
	Peers int         // peers of the endpoint now
}

// String describes the endpoint's port to users. It takes the domain's lock.
func (ep *rdmEndpoint) String() string {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return layerName + " over " + datagram.Describe(ep.port)
}

// StatsOf returns the counters of an endpoint of this package, false for any other endpoint. It takes the domain's
// lock.
func StatsOf(ep core.EndpointDriver) (Stats, bool) {
	e, ok := ep.(*rdmEndpoint)
	if !ok {
		return Stats{}, false
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	return Stats{e.eng.Stats, e.port.Stats(), e.eng.Flows().Counts, e.eng.Len()}, true
}
