package neigh

import (
	"errors"
	"fmt"
	"net/netip"

	"gofabric/internal/xdp/frame"
)

// These are the reasons why there is no Path. Errors of View.Why and View.Resolve wrap one of them, or an errno of
// the kernel for the route.
var (
	ErrResolving   = errors.New("neigh: not resolved yet")
	ErrLocal       = errors.New("neigh: the destination is this host")
	ErrUnreachable = errors.New("neigh: the next hop does not answer")
	ErrDown        = errors.New("neigh: the interface is down")
	ErrLink        = errors.New("neigh: the interface is not Ethernet")
	ErrEncap       = errors.New("neigh: the route encapsulates packets (ip-route(8), encap)")
	ErrAddress     = errors.New("neigh: no such address")
	ErrStale       = errors.New("neigh: the next hop may be gone, and CAP_NET_ADMIN is needed to make the kernel probe it")
	ErrMany        = errors.New("neigh: too many next hops")
	ErrLost        = errors.New("neigh: the kernel no longer reports changes")
	ErrClosed      = errors.New("neigh: closed")
)

// Path is the path to a destination at some time. It does not change.
type Path struct {
	// Link is the index of the interface that sends and receives the frames. VLAN devices are above it.
	Link int
	// Device is the index of the interface in the route: Link, or a VLAN device.
	Device int
	// Tags are the VLAN tags of frames, the outer one first.
	Tags [frame.TagsMax]frame.Tag
	// SrcMAC and DstMAC are the addresses of frames. DstMAC belongs to the next hop or to a group.
	SrcMAC, DstMAC frame.MAC
	// Src is the source address: the View's, or the kernel's choice.
	Src netip.Addr
	// NextHop is the next hop: a gateway, or the destination.
	NextHop netip.Addr
	// Cast distinguishes neighbours, groups and broadcasts.
	Cast frame.Cast
	// MTU is the largest size of a packet, in bytes without Ethernet's header and tags.
	MTU int
}

func (p *Path) String() string {
	return fmt.Sprintf("from %v by interface %d to %v at %x, MTU %d", p.Src, p.Link, p.NextHop, p.DstMAC[:], p.MTU)
}

// groupMAC returns the Ethernet address of a group (RFC 1112, 6.4; RFC 2464, 7).
func groupMAC(a netip.Addr) frame.MAC {
	if a.Is4() {
		b := a.As4()
		return frame.MAC{1, 0, 0x5e, b[1] & 0x7f, b[2], b[3]}
	}
	b := a.As16()
	return frame.MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}
}

// broadcastMAC is the broadcast address.
var broadcastMAC = frame.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
