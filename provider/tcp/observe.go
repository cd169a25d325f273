package tcp

import (
	"gofabric/internal/front"
	"gofabric/internal/telemetry"
)

// ObservePeers implements front.Observed: there is one.
func (ep *msgEndpoint) ObservePeers(yield func(front.PeerView) bool) {
	if ep.st != nil {
		yield(front.PeerView{Conn: ep.st.conn, Addr: ep.st.peer})
	}
}

// ObserveCounts implements front.Observed.
func (ep *msgEndpoint) ObserveCounts(telemetry.Counts) {}
