package datagram

import "net/netip"

// Expecter is a Port that makes ready what datagrams to a destination will need.
type Expecter interface {
	// Expect tells that datagrams to dest may follow, for it was put into the address vector. It sends nothing there by itself, but may have the system ask for the neighbour. Locked.
	Expect(dest netip.AddrPort)
}

// ExpectMost is how many destinations a port makes ready for.
const ExpectMost = 256

// Expect tells a port of a destination, if it wants to know. Locked.
func Expect(p Port, dest netip.AddrPort) {
	if x, ok := p.(Expecter); ok && dest.IsValid() {
		x.Expect(dest)
	}
}

// ExpectAll tells a port of those that its endpoint knows already: the port is new there, or has another link than before. known returns so many at most. Locked.
func ExpectAll(p Port, known func(most int) []netip.AddrPort) {
	if _, ok := p.(Expecter); !ok {
		return
	}
	for _, dest := range known(ExpectMost) {
		Expect(p, dest)
	}
}
