package dgram

import "net/netip"

// Expecter is a Port that makes ready what datagrams to a destination will need.
type Expecter interface {
	// Expect tells that datagrams to dest may follow, for it was put into the address vector. It sends nothing there by itself, but may have the system ask for the neighbour. Locked.
	Expect(dest netip.AddrPort)
}

// Expect tells a port of a destination, if it wants to know. Locked.
func Expect(p Port, dest netip.AddrPort) {
	if x, ok := p.(Expecter); ok && dest.IsValid() {
		x.Expect(dest)
	}
}
