package datagram

import "net/netip"

// Narrower is a Receiver that wants to know of paths that take less in one piece than before.
type Narrower interface {
	// Narrowed tells that a datagram was too long for the way to dest: it was fragmented, or lost; or that such a way takes more again. MaxDatagram knows how
	// much. It is called locked, by Send too, and must not send.
	Narrowed(dest netip.AddrPort)
}
