package rxd

import (
	"net/netip"

	"gofabric/internal/mono"
)

// Received implements dgram.Receiver: one datagram, or a run of them. Locked.
func (ep *endpoint) Received(from netip.AddrPort, b []byte, seg int) {
	if !ep.Enabled() && !ep.Closed() {
		return // nobody can know yet what there is to receive; peers try again
	}
	now := int64(mono.Now())
	ep.got, ep.taking = true, true
	for seg > 0 && len(b) > seg {
		ep.eng.Receive(now, from, b[:seg])
		b = b[seg:]
	}
	ep.eng.Receive(now, from, b)
	ep.taking = false
}

// Drained implements dgram.Receiver: answers leave, but for those that wait for company. Locked.
func (ep *endpoint) Drained() { ep.transmit(mono.Now()) }

// Idle implements dgram.Idler: the application has had its chance to answer what came, and nothing more has come. Locked.
func (ep *endpoint) Idle() {
	if !ep.got {
		return
	}
	ep.got = false
	now := mono.Now()
	ep.eng.Quiet(int64(now))
	ep.transmit(now)
}

// Lost implements dgram.Receiver: without the port no peer is there. Locked.
func (ep *endpoint) Lost(err error) {
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
