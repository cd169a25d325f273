package rxd

import (
	"net/netip"

	"gofabric/internal/mono"
)

// Received implements datagram.Receiver: one datagram, or a run of them. Locked.
func (ep *rdmEndpoint) Received(from netip.AddrPort, b []byte, seg int) {
	if !ep.Enabled() && !ep.Closed() {
		return // nobody can know yet what there is to receive; peers try again
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

// recent is how much can be taken in so short a time that it is not worth another look at the clock, bytes.
const recent = 4096

// Drained implements datagram.Receiver: answers leave, but for those that wait for company. Locked.
func (ep *rdmEndpoint) Drained() {
	now := ep.heard
	if now.IsNone() {
		now = mono.Now()
	}
	ep.heard = mono.None
	ep.transmit(now)
}

// Idle implements datagram.Idler: the application has had its chance to answer what came, and nothing more has come. Locked.
func (ep *rdmEndpoint) Idle() {
	if !ep.got {
		return
	}
	ep.got = false
	now := mono.Now()
	ep.eng.PassDone(int64(now))
	ep.transmit(now)
}

// Lost implements datagram.Receiver: without the port no peer is there. Locked.
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
