package rxd

import (
	"gofabric/internal/endpoint"
	"gofabric/internal/telemetry"
	"gofabric/util/rxd/session"
)

// path gives a peer the methods that telemetry calls.
type path session.Peer

// ObservePath implements endpoint.Path.
func (p *path) ObservePath(c telemetry.Counts) {
	s, ok := (*session.Peer)(p).Flow()
	if !ok {
		return
	}
	c["rtt"], c["min_rtt"] = uint64(s.SRTT), uint64(s.MinRTT)
	c["window"], c["in_flight"] = uint64(s.Window), uint64(s.InFlight)
	for name, n := range map[string]uint64{
		"datagrams.sent": s.Sent, "datagrams.received": s.Received, "retransmitted": s.Retransmitted, "lost": uint64(s.Lost),
		"timeouts": uint64(s.Timeouts), "spurious": uint64(s.Spurious), "window_cuts": uint64(s.Cuts), "black_holes": uint64(s.BlackHoles),
		"drops.duplicate": uint64(s.Duplicates), "drops.no_room": uint64(s.Dropped), "drops.nonsense": uint64(s.Nonsense),
	} {
		if n > 0 {
			c[name] += n
		}
	}
}

// ObservePeers implements endpoint.Observed.
func (ep *rdmEndpoint) ObservePeers(yield func(endpoint.PeerView) bool) {
	for p := range ep.eng.Each {
		if !yield(endpoint.PeerView{Conn: p.Conn(), Addr: p.Addr, Path: (*path)(p)}) {
			return
		}
	}
}

// ObserveCounts implements endpoint.Observed.
func (ep *rdmEndpoint) ObserveCounts(c telemetry.Counts) {
	port := ep.port.Stats()
	port.Observe(c)
	f := ep.eng.Flows()
	if f.SRTT > 0 {
		c["rtt"] = uint64(f.SRTT)
	}
	c["window"], c["in_flight"] = uint64(f.Window), uint64(f.InFlight)
	s := &ep.eng.Stats
	for name, n := range map[string]uint64{
		"retransmitted": s.Retransmitted + f.Retransmitted, "lost": uint64(f.Lost), "timeouts": uint64(f.Timeouts), "spurious": uint64(f.Spurious),
		"window_cuts": uint64(f.Cuts), "black_holes": uint64(f.BlackHoles), "restarts": s.Restarts,
		"drops.malformed": s.Malformed, "drops.checksum": s.BadChecksum, "drops.unknown": s.Unknown, "drops.cookie": s.BadCookies,
		"drops.duplicate": s.Duplicates + uint64(f.Duplicates), "drops.out_of_order": s.OutOfOrder, "drops.refused": s.Refused, "drops.evicted": s.Evicted,
		"drops.answers": s.AnswersLost, "drops.denied": s.Denied, "drops.no_room": uint64(f.Dropped), "drops.nonsense": uint64(f.Nonsense),
	} {
		if n > 0 {
			c[name] += n
		}
	}
}
