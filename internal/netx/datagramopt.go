// Options of datagram sockets that every system has.

package netx

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// ZoneIndex turns the zone of a link-local address (an interface's name, or its index in decimal) into an interface's index; 0 for no zone. It asks the
// system: keep the result.
func ZoneIndex(zone string) (uint32, error) { return zoneIndex(zone) }

// ZoneName is the zone for an interface's index: its name, or the index in decimal. It asks the system: keep the result.
func ZoneName(index uint32) string { return zoneName(index) }

// Join makes the socket receive what is sent to a multicast group on one interface: iface for IPv4 groups, an address of the interface, index for IPv6
// groups (ip(7) IP_ADD_MEMBERSHIP, RFC 3493 IPV6_JOIN_GROUP). Unset, the system chooses the interface.
func Join(fd FD, group, iface netip.Addr, index int) error {
	return member(fd, group, iface, index, unix.IP_ADD_MEMBERSHIP, unix.IPV6_JOIN_GROUP)
}

// Leave ends Join.
func Leave(fd FD, group, iface netip.Addr, index int) error {
	return member(fd, group, iface, index, unix.IP_DROP_MEMBERSHIP, unix.IPV6_LEAVE_GROUP)
}

func member(fd FD, group, iface netip.Addr, index, opt4, opt6 int) error {
	switch {
	case !group.IsMulticast():
		return unix.EINVAL
	case group.Is4():
		m := unix.IPMreq{Multiaddr: group.As4()}
		if iface.Is4() {
			m.Interface = iface.As4()
		}
		return unix.SetsockoptIPMreq(int(fd), unix.IPPROTO_IP, opt4, &m)
	}
	return unix.SetsockoptIPv6Mreq(int(fd), unix.IPPROTO_IPV6, opt6, &unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(index)})
}

// SetMulticast says how a socket of family sends to multicast groups: over the interface with address iface (IPv4) or number index (IPv6; unset: the
// system chooses), through up to hops routers, and with loop also to members on this host.
func SetMulticast(fd FD, family int, iface netip.Addr, index, hops int, loop bool) error {
	if family == unix.AF_INET6 {
		if index > 0 {
			if err := setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, index); err != nil {
				return err
			}
		}
		if err := setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, hops); err != nil {
			return err
		}
		return setInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP, flag(loop))
	}
	if iface.Is4() {
		if err := unix.SetsockoptInet4Addr(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_IF, iface.As4()); err != nil {
			return err
		}
	}
	// One byte: the BSDs take nothing longer, Linux takes both.
	if err := unix.SetsockoptByte(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, byte(min(max(hops, 0), 255))); err != nil {
		return err
	}
	return unix.SetsockoptByte(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, byte(flag(loop)))
}

// GrowBuffers asks for kernel buffers of snd and rcv bytes, beyond the system's limit where the process may (CAP_NET_ADMIN), and returns what it got: the
// bytes that the kernel accounts, of which the overhead of small datagrams takes the larger part.
func GrowBuffers(fd FD, snd, rcv int) (gotSnd, gotRcv int, err error) {
	for _, b := range []struct{ opt, force, want int }{{unix.SO_SNDBUF, forceSendBuf, snd}, {unix.SO_RCVBUF, forceRecvBuf, rcv}} {
		if b.want > 0 && (b.force == 0 || setInt(fd, unix.SOL_SOCKET, b.force, b.want) != nil) {
			for want := b.want; setInt(fd, unix.SOL_SOCKET, b.opt, want) == unix.ENOBUFS && want > 64<<10; want /= 2 {
				// The BSDs refuse what is too large; Linux cuts it.
			}
		}
	}
	return Buffers(fd)
}
