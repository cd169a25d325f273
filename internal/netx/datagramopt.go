// Options of datagram sockets that every system has.

package netx

import (
	"net/netip"
	"syscall"
)

// ZoneIndex returns the index of an interface for the zone of a link-local address: an interface's name, or its
// index in decimal. It returns 0 for no zone. It asks the system, so callers keep the result.
func ZoneIndex(zone string) (uint32, error) { return zoneIndex(zone) }

// ZoneName returns the zone for an interface's index: its name, or the index in decimal. It asks the system, so
// callers keep the result.
func ZoneName(index uint32) string { return zoneName(index) }

// Join makes the socket receive datagrams to a multicast group on one interface. For an IPv4 group, iface is an
// address of the interface; for an IPv6 group, index is its index (ip(7) IP_ADD_MEMBERSHIP, RFC 3493
// IPV6_JOIN_GROUP). If it is unset, the system chooses the interface.
func Join(fd FD, group, iface netip.Addr, index int) error {
	return member(fd, group, iface, index, syscall.IP_ADD_MEMBERSHIP, syscall.IPV6_JOIN_GROUP)
}

// Leave ends Join.
func Leave(fd FD, group, iface netip.Addr, index int) error {
	return member(fd, group, iface, index, syscall.IP_DROP_MEMBERSHIP, syscall.IPV6_LEAVE_GROUP)
}

func member(fd FD, group, iface netip.Addr, index, opt4, opt6 int) error {
	switch {
	case !group.IsMulticast():
		return syscall.EINVAL
	case group.Is4():
		m := syscall.IPMreq{Multiaddr: group.As4()}
		if iface.Is4() {
			m.Interface = iface.As4()
		}
		return sysErr(syscall.SetsockoptIPMreq(handle(fd), syscall.IPPROTO_IP, opt4, &m))
	}
	return setGroup(fd, opt6, &syscall.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(index)})
}

// SetMulticast sets how a socket of the given family sends to multicast groups: over the interface with address
// iface (IPv4) or index (IPv6), through up to hops routers. If the interface is unset, the system chooses it. With
// loop, members on this host receive the datagrams, too.
func SetMulticast(fd FD, family int, iface netip.Addr, index, hops int, loop bool) error {
	if family == syscall.AF_INET6 {
		if index > 0 {
			if err := setInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_MULTICAST_IF, index); err != nil {
				return err
			}
		}
		if err := setInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_MULTICAST_HOPS, hops); err != nil {
			return err
		}
		return setInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_MULTICAST_LOOP, flag(loop))
	}
	if iface.Is4() {
		if err := syscall.SetsockoptInet4Addr(handle(fd), syscall.IPPROTO_IP, syscall.IP_MULTICAST_IF, iface.As4()); err != nil {
			return sysErr(err)
		}
	}
	if err := setSmall(fd, syscall.IPPROTO_IP, syscall.IP_MULTICAST_TTL, min(max(hops, 0), 255)); err != nil {
		return err
	}
	return setSmall(fd, syscall.IPPROTO_IP, syscall.IP_MULTICAST_LOOP, flag(loop))
}

// GrowBuffers asks for kernel buffers of snd and rcv bytes. It goes beyond the system's limit where the process may
// (CAP_NET_ADMIN). It returns the bytes that the kernel accounts for; the overhead of small datagrams takes the
// larger part of them.
func GrowBuffers(fd FD, snd, rcv int) (gotSnd, gotRcv int, err error) {
	for _, b := range []struct{ opt, force, want int }{{syscall.SO_SNDBUF, forceSendBuf, snd}, {syscall.SO_RCVBUF, forceRecvBuf, rcv}} {
		if b.want > 0 && (b.force == 0 || setInt(fd, syscall.SOL_SOCKET, b.force, b.want) != nil) {
			for want := b.want; setInt(fd, syscall.SOL_SOCKET, b.opt, want) == syscall.ENOBUFS && want > 64<<10; want /= 2 {
				// The BSDs refuse a size that is too large. Linux reduces it.
			}
		}
	}
	return Buffers(fd)
}
