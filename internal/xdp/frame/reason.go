package frame

import "strconv"

// Reason is the reason why a frame is refused.
type Reason uint8

// These are the reasons. Those that end in "for the kernel" may be valid packets that the kernel must reassemble or
// examine.
const (
	Accepted       Reason = iota
	Short                 // the frame ends within its headers
	OtherHost             // sent to another station, received because the interface is promiscuous
	EtherType             // neither IPv4 nor IPv6, or more than two VLAN tags: for the kernel
	Version               // the IP header contradicts the EtherType, or its length is less than 20
	Options               // IPv4 options: for the kernel
	HeaderChecksum        // of IPv4
	TotalLength           // the packet is longer than the frame, or shorter than its header
	Fragment              // for the kernel
	Extension             // IPv6 extension headers, hop-by-hop options among them: for the kernel
	Protocol              // not UDP: for the kernel
	Source                // an address that no host can have: multicast, broadcast, 0.0.0.0/8, IPv4-mapped
	Destination           // an address that no host can have, or a multicast scope within a host
	Loopback              // a loopback address on another interface
	UDPLength             // longer than the packet, or shorter than the header
	UDPChecksum           //
	NoChecksum            // IPv6 without UDP checksum
	Unfinished            // the sender left the UDP checksum to hardware, and there is none (Rules.Unfinished)
	Reasons               // number of reasons
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

// Cast is the kind of receivers of an address.
type Cast uint8

// These are the kinds. Of IPv4's broadcast addresses only 255.255.255.255 is recognized, because the others depend on
// the networks of the host.
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
