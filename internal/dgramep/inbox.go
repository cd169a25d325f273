package dgramep

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/transport/datagram"
)

// inbox gives an endpoint the methods that its port calls.
type inbox dgramEndpoint

var _ datagram.Receiver = (*inbox)(nil)

// Received implements datagram.Receiver.
func (r *inbox) Received(from netip.AddrPort, b []byte, seg int) {
	e := (*dgramEndpoint)(r)
	for {
		n := len(b)
		if seg > 0 && seg < n {
			n = seg
		}
		if e.rx.Len() > 0 {
			e.received(from, b[:n], nil)
		} else {
			e.early.add(from, b[:n])
		}
		if b = b[n:]; len(b) == 0 {
			return
		}
	}
}

// Drained implements datagram.Receiver. It does nothing, as datagrams have no answers.
func (r *inbox) Drained() {}

// Writable implements datagram.Receiver.
func (r *inbox) Writable() { (*dgramEndpoint)(r).flush() }

// Lost implements datagram.Receiver. Receives fail from now on.
func (r *inbox) Lost(err error) {
	e := (*dgramEndpoint)(r)
	e.lost = endpoint.Errno(err)
	if e.lost == core.ErrAgain {
		e.lost = core.ErrIO
	}
	if e.srx != nil {
		e.srx.lost(e.lost)
		return
	}
	e.failReceives(e.lost)
}
