package rxd

import (
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/engine"
)

// refusedAfter is how long the network must say that nobody is there before a peer is given up. A word of the network's may be forged, and a peer may be about
// to start; one that is heard from meanwhile stays.
const refusedAfter = 300 * time.Millisecond

// refusal is what the network says of a peer.
type refusal struct {
	since mono.Time
	moved uint64 // bytes exchanged until then
}

// Refused implements datagram.Refusals. Locked.
func (ep *rdmEndpoint) Refused(dest netip.AddrPort, err error) {
	if err != core.ErrConnRefused {
		return // routes may come back
	}
	p := ep.eng.Lookup(dest)
	if p == nil {
		return
	}
	now, c := mono.Now(), p.Conn()
	r, ok := ep.refusals[p]
	if moved := c.BytesIn + c.BytesOut; !ok || r.moved != moved {
		if ep.refusals == nil {
			ep.refusals = map[*engine.Peer]refusal{}
		}
		ep.refusals[p] = refusal{now, moved}
		return
	}
	if now.Sub(r.since) < refusedAfter {
		return
	}
	ep.forget(p)
	ep.eng.Remove(p, xengine.ErrRefused)
	ep.transmit(now)
}
