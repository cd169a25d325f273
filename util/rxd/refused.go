// ICMP errors about peers. They are hints and no proof, because any host on the path can forge them (RFC 5927).

package rxd

import (
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/session"
)

// refusedAfter is how long ICMP must report that there is no socket before a peer fails. ICMP messages may be
// forged, and a peer may be about to start. A peer that sends something meanwhile does not fail.
const refusedAfter = 300 * time.Millisecond

// refusal is what ICMP reports of a peer.
type refusal struct {
	since mono.Time
	moved uint64 // bytes exchanged when it was first reported
}

// Refused implements datagram.Refusals. Locked.
func (ep *rdmEndpoint) Refused(dest netip.AddrPort, err error) {
	if err != core.ErrConnRefused {
		return // a route may come back
	}
	p := ep.eng.Lookup(dest)
	if p == nil {
		return
	}
	now, c := mono.Now(), p.Conn()
	r, ok := ep.refusals[p]
	if moved := c.BytesIn + c.BytesOut; !ok || r.moved != moved {
		if ep.refusals == nil {
			ep.refusals = map[*session.Peer]refusal{}
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
