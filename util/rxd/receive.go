// The receive side: passes datagrams to the engine, and sends its answers after the last one, so that an
// application can answer first and both leave in one datagram.

package rxd

import (
	"net/netip"

	"gofabric/internal/mono"
)

// Received implements datagram.Receiver: one datagram, or a run of them. Locked.
func (ep *rdmEndpoint) Received(from netip.AddrPort, b []byte, seg int) {
	if !ep.Enabled() && !ep.Closed() {
		return // not enabled yet, so there are no receives; peers send again
	}
	at := mono.Now()
	now := int64(at)
	ep.got, ep.taking, ep.heard = true, true, at
	if len(b) > recent {
		ep.heard = mono.None
	}
	for seg > 0 && len(b) > seg {
		ep.eng.Receive(now, from, b[:seg])
		b = b[seg:]
	}
	ep.eng.Receive(now, from, b)
	ep.taking = false
}

// recent is the number of bytes whose processing takes so little time that the clock is not read again.
const recent = 4096

// Drained implements datagram.Receiver. Answers leave, except those that wait for others. Locked.
func (ep *rdmEndpoint) Drained() {
	now := ep.heard
	if now.IsNone() {
		now = mono.Now()
	}
	ep.heard = mono.None
	ep.transmit(now)
}

// Idle implements datagram.Idler. The application has had an opportunity to answer the received datagrams, and no
// others have come. Locked.
func (ep *rdmEndpoint) Idle() {
	if !ep.got {
		return
	}
	ep.got = false
	now := mono.Now()
	ep.eng.PassDone(int64(now))
	ep.transmit(now)
}

// Lost implements datagram.Receiver. Without a port no peer can be reached. Locked.
func (ep *rdmEndpoint) Lost(err error) {
	if ep.lost != nil {
		return
	}
	ep.lost = err
	if ep.eng == nil {
		return
	}
	for p := range ep.eng.Each {
		ep.eng.Remove(p, err)
	}
	clear(ep.byFI)
}
