package rxd

import (
	"gofabric/core"
	"gofabric/internal/transport/datagram"
	"gofabric/util/rxd/engine"
	"gofabric/util/rxd/flow"
)

// Stats counts what an endpoint did.
type Stats struct {
	engine.Stats
	Port  datagram.Stats
	Flows flow.Counts // of all extended peers, past ones included
	Peers int         // that the endpoint knows now
}

// String says what the endpoint's port has to work with, for who prints it. It takes the domain's lock.
func (ep *rdmEndpoint) String() string {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return layerName + " over " + datagram.Describe(ep.port)
}

// StatsOf returns the counts of an endpoint of this package; false for another one. It takes the domain's lock.
func StatsOf(ep core.EndpointDriver) (Stats, bool) {
	e, ok := ep.(*rdmEndpoint)
	if !ok {
		return Stats{}, false
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	return Stats{e.eng.Stats, e.port.Stats(), e.eng.Flows().Counts, e.eng.Len()}, true
}
