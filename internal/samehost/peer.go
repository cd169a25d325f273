package samehost

import (
	"net/netip"
	"strconv"

	"gofabric/internal/netx"
	"gofabric/internal/trust"
)

// Addresses reports whether data from local to peer stays on this host, judged by the addresses alone. A process at
// peer may be in another network namespace; then its local socket is not found. Addresses with zones are of one
// host if they are equal.
func Addresses(local, peer netip.Addr) bool {
	local, peer = local.Unmap(), peer.Unmap()
	if local == peer {
		return true
	}
	return local.Is4() == peer.Is4() && local.Zone() == "" && peer.Zone() == "" &&
		!peer.IsMulticast() && !peer.IsUnspecified() && peer != broadcast && netx.OneHost(local, peer)
}

// broadcast is an address that a socket can be bound to and that is no host's address.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// Namespaces reports whether two sockets are in one network namespace. The calling thread may have changed its
// namespace since it opened the first socket, and in another namespace the same address may be another host's.
// Before Linux 5.14 (SO_NETNS_COOKIE) this is unknown, and the result is false.
func Namespaces(a, b netx.FD) bool {
	x, err := netx.Namespace(a)
	y, err2 := netx.Namespace(b)
	return err == nil && err2 == nil && x == y
}

// OwnsPort reports whether the UDP port at an address belongs to this user. fd is a connection to or at the socket
// of a name, and the process at its other end claims the address. That process is of this user, but must not pass
// for another user's. If it does, this is counted and logged as a refusal of use.
func OwnsPort(at netip.AddrPort, fd netx.FD, use trust.Use, name string) bool {
	uid, ok := netx.PortUser(at)
	if !ok || trust.User(uid) {
		return ok // no socket is bound there, or this thread cannot see it
	}
	p, _ := netx.PeerOf(fd)
	trust.Refuse(use, p, name, "the port of "+at.String()+", which the process claims, belongs to user "+strconv.Itoa(uid))
	return false
}
