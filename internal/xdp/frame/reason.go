package frame

import "strconv"

// Reason says why a frame is refused.
type Reason uint8

// The reasons. Those that end in "kernel" are of packets that may well be good, but are for the kernel to put together or to look into.
const (
	Accepted       Reason = iota
	Short                 // the frame ends before its headers do
	OtherHost             // sent to another station, seen because the interface is promiscuous
	EtherType             // neither IPv4 nor IPv6, or more than two VLAN tags: for the kernel
	Version               // the IP header contradicts the EtherType, or its length is less than 20
	Options               // IPv4 options: for the kernel
	HeaderChecksum        // of IPv4
	TotalLength           // the packet is longer than the frame, or shorter than its header
	Fragment              // for the kernel
	Extension             // IPv6 extension headers, hop-by-hop options among them: for the kernel
	Protocol              // not UDP: for the kernel
	Source                // an address that no host has: multicast, broadcast, of this network, IPv4-mapped
	Destination           // an address that no host has, or a multicast scope that does not leave a host
	Loopback              // a loopback address on another interface
	UDPLength             // longer than the packet, or shorter than the header
	UDPChecksum           //
	NoChecksum            // IPv6 without UDP checksum
	Unfinished            // the sender left the UDP checksum to hardware which there is not (Rules.Unfinished)
	Reasons               // how many there are
)

var reasons = [Reasons]string{
	Accepted: "accepted", Short: "shorter than its headers", OtherHost: "to another station", EtherType: "not IPv4 or IPv6",
	Version: "bad IP version or header length", Options: "IPv4 options", HeaderChecksum: "bad IPv4 header checksum", TotalLength: "bad packet length",
	Fragment: "fragment", Extension: "IPv6 extension header", Protocol: "not UDP", Source: "bad source address", Destination: "bad destination address",
	Loopback: "loopback address from outside", UDPLength: "bad UDP length", UDPChecksum: "bad UDP checksum", NoChecksum: "no UDP checksum",
	Unfinished: "unfinished UDP checksum",
}

func (r Reason) String() string {
	if r < Reasons {
		return reasons[r]
	}
	return "reason " + strconv.Itoa(int(r))
}

// Cast says to whom an address leads.
type Cast uint8

// The kinds of addresses. Of IPv4's broadcast addresses only 255.255.255.255 can be told without knowing the networks of the host.
const (
	Unicast Cast = iota
	Multicast
	Broadcast
)

func (c Cast) String() string {
	switch c {
	case Unicast:
		return "unicast"
	case Multicast:
		return "multicast"
	case Broadcast:
		return "broadcast"
	}
	return "cast " + strconv.Itoa(int(c))
}
