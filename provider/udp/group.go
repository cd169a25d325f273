// Multicast (FI_MULTICAST, fi_cm(3)): membership of a port in groups.

package udp

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/netx"
)

const (
	// multicastHops keeps multicast within the local network. It is every system's default, too.
	multicastHops = 1
	// groupsMax bounds the groups of a port, each of which needs a socket. Linux allows 20 per socket
	// (net.ipv4.igmp_max_memberships).
	groupsMax = 256
)

// Join implements datagram.Joiner: the port then receives datagrams to group at its port number. On most systems a
// socket bound to an address of this host receives no multicast. Each group therefore has a socket bound to the
// group's address. A socket bound to any address joins the group itself.
func (p *port) Join(group netip.Addr) error {
	group = group.Unmap()
	switch {
	case p.closed:
		return core.ErrOpBadState
	case !group.IsMulticast() || netx.Family(group) != p.family:
		return opError("fi_join", group.String(), core.ErrInval, "not a multicast address of the endpoint's family")
	case p.groups[group] != nil:
		return opError("fi_join", group.String(), core.ErrAlready, "the endpoint is already a member of the group")
	case len(p.groups) >= groupsMax:
		return opError("fi_join", group.String(), core.ErrNoSpc, "the endpoint has joined as many groups as it can")
	}
	if p.local.Addr().IsUnspecified() {
		if err := netx.Join(p.main.fd, group.WithZone(""), netip.Addr{}, p.index); err != nil {
			return opError("fi_join", group.String(), err, "has an interface multicast?")
		}
		p.member(group, p.main)
		return nil
	}
	fd, err := p.joined(group)
	if err != nil {
		return opError("fi_join", group.String(), err, "has the interface multicast?")
	}
	s, err := p.register(fd)
	if err != nil {
		return opError("fi_join", group.String(), err, "descriptors may have run out (ulimit -n)")
	}
	p.member(group, s)
	return nil
}

func (p *port) member(group netip.Addr, s *socket) {
	if p.groups == nil {
		p.groups = map[netip.Addr]*socket{}
	}
	p.groups[group] = s
}

// joined opens a socket that is a member of group.
func (p *port) joined(group netip.Addr) (netx.FD, error) {
	fd, err := netx.DatagramSocket(p.family)
	if err != nil {
		return netx.NoFD, err
	}
	at := group
	if group.Is6() && (group.IsLinkLocalMulticast() || group.IsInterfaceLocalMulticast()) && p.index > 0 {
		at = group.WithZone(netx.ZoneName(uint32(p.index)))
	}
	if err = netx.BindGroup(fd, netip.AddrPortFrom(at, p.local.Port())); err == nil {
		err = netx.Join(fd, group.WithZone(""), p.local.Addr(), p.index)
	}
	if err != nil {
		netx.Close(fd)
		return netx.NoFD, err
	}
	netx.GrowBuffers(fd, 0, p.d.s.recvBuf)
	return fd, nil
}

// Leave implements datagram.Joiner.
func (p *port) Leave(group netip.Addr) error {
	group = group.Unmap()
	s := p.groups[group]
	if s == nil {
		return opError("fi_leave", group.String(), core.ErrInval, "the endpoint is not a member of the group")
	}
	delete(p.groups, group)
	if s == p.main {
		if err := netx.Leave(s.fd, group.WithZone(""), netip.Addr{}, p.index); err != nil {
			return opError("fi_leave", group.String(), err, "")
		}
		return nil
	}
	s.countDrops()
	s.close() // ends the membership
	return nil
}
