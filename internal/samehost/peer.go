package samehost

import (
	"net/netip"
	"strconv"

	"gofabric/internal/netx"
	"gofabric/internal/trust"
)

// Addresses reports whether what is sent from local to peer stays on this host, as far as addresses can tell: a process at peer may be in another network
// namespace, and is not found at its local socket then. Addresses with zones are of one host if they are equal.
func Addresses(local, peer netip.Addr) bool {
	local, peer = local.Unmap(), peer.Unmap()
	if local == peer {
		return true
	}
	return local.Is4() == peer.Is4() && local.Zone() == "" && peer.Zone() == "" &&
		!peer.IsMulticast() && !peer.IsUnspecified() && peer != broadcast && netx.OneHost(local, peer)
}

// broadcast is an address that a socket can be bound to and that no host has.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// Namespaces reports whether two sockets are in one network namespace. The calling thread's may have changed since the first was opened, and in another one an
// address may be another host's. Before Linux 5.14 (SO_NETNS_COOKIE) that cannot be told, and the answer is no.
func Namespaces(a, b netx.FD) bool {
	x, err := netx.Namespace(a)
	y, err2 := netx.Namespace(b)
	return err == nil && err2 == nil && x == y
}

// OwnsPort reports whether the UDP port at an address belongs to this user. The process at the other end of fd, a connection to or at the socket of a name,
// claims that address: it may be any process of this user, but must not pass for another user's. That is counted and logged as a refusal of use.
func OwnsPort(at netip.AddrPort, fd netx.FD, use trust.Use, name string) bool {
	uid, ok := netx.PortUser(at)
	if !ok || trust.User(uid) {
		return ok // no socket is there, or this thread cannot tell
	}
	p, _ := netx.PeerOf(fd)
	trust.Refuse(use, p, name, "the port of "+at.String()+", for which it speaks, belongs to user "+strconv.Itoa(uid))
	return false
}
