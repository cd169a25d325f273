package datagram

import "net/netip"

// Narrower is a Receiver that is called when the path MTU of a destination changes.
type Narrower interface {
	// Narrowed is called when a datagram to dest was fragmented or lost because it exceeded the path MTU, or when
	// the path MTU has increased again. MaxDatagram returns the new size. It is called locked, also by Send, and
	// must not send.
	Narrowed(dest netip.AddrPort)
}
