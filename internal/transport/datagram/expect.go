package datagram

import "net/netip"

// Expecter is a Port that prepares for datagrams to a destination.
type Expecter interface {
	// Expect is called when dest was inserted into the address vector, so that datagrams to it may follow. It sends
	// no datagram there, but may make the system resolve the neighbour (arp(7)). Locked.
	Expect(dest netip.AddrPort)
}

// ExpectMost is the largest number of destinations that a port prepares for.
const ExpectMost = 256

// Expect calls Expect of the port, if it has one. Locked.
func Expect(p Port, dest netip.AddrPort) {
	if x, ok := p.(Expecter); ok && dest.IsValid() {
		x.Expect(dest)
	}
}

// ExpectAll calls Expect for the destinations that an endpoint has already, after its port was opened or has got
// another datapath. known returns up to most destinations. Locked.
func ExpectAll(p Port, known func(most int) []netip.AddrPort) {
	if _, ok := p.(Expecter); !ok {
		return
	}
	for _, dest := range known(ExpectMost) {
		Expect(p, dest)
	}
}
