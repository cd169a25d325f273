// Package neigh finds the path to a destination for a sender of Ethernet frames: the interface, the source address,
// the Ethernet addresses of both ends, VLAN tags and the size of packets. The kernel decides and resolves, as for a
// socket. This package asks the kernel through netlink (rtnetlink(7)), and follows the changes.
//
// A Table watches one network namespace: links, addresses, rules, routes and neighbours. Open returns the same Table
// to all callers in a namespace. A View is an endpoint's view of the Table, from its source address. A Dest is the
// state of a peer, 24 bytes. Dests of peers behind the same next hop share everything else.
//
//	t, err := neigh.Open()
//	v := t.View(local, ifindex)
//	p := v.Path(&peer.dest, peer.addr)   // for each datagram: some atomic loads
//	if p == nil { ... }                  // send through the socket; v.Why(&peer.dest) says why
//
// Path never waits and makes no system call. It returns nil while nothing is known, and a goroutine of the table asks
// the kernel in the meantime. A Path does not change. When the way to the destination changes, Path returns another
// one, so headers built from a Path are valid while the pointer is the same. If a Path becomes useless, because an
// interface goes down or a neighbour does not answer, it is removed at once. After changes of routes, rules and
// addresses every Dest asks again at its next use, as the kernel's rt_genid does for sockets. Until the answer comes,
// the old Path remains valid. A table remembers its answers: a new Dest has its Path at once if another Dest, of a
// View with the same source, was answered since the last change.
//
// # Neighbours
//
// The kernel confirms a neighbour when it receives packets from it. Otherwise it probes the neighbour while packets
// are sent to it (RFC 4861, 7.3; net/core/neighbour.c). It does not see the packets of AF_XDP in either direction. So
// a neighbour with no other packets becomes stale, and the kernel drops it in the end. For this reason the table asks
// for stale neighbours that are in use as a packet would: RTM_NEWNEIGH with NTF_USE, which calls neigh_event_send.
// The kernel then goes through DELAY and PROBE as usual. Entries without a user are dropped. NTF_MANAGED would make
// the kernel do all that by itself. It is not used, because the entries would remain when the process dies. NTF_USE
// needs CAP_NET_ADMIN. Without it, the Path is removed when the neighbour becomes stale. Then the socket sends, the
// kernel probes, and the Path comes back.
//
// The table asks for an unknown neighbour in the same way. If it does not answer within a few seconds, Why returns
// that, and the table asks again after growing pauses while the Dest is in use.
//
// # Limits
//
// On systems other than Linux, Open returns errors.ErrUnsupported. Only Ethernet interfaces have Paths, and VLAN
// devices above them. A bridge or bond counts as one interface. The MTU is that of interface and route. A smaller MTU
// of the path beyond is known to the socket (IP_MTU in ip(7)).
//
// The table asks for routes by destination and source address. Rules (ip-rule(8)) may also depend on ports, marks and
// users, which it does not pass. If a route has several next hops, the kernel may choose another one for a socket.
// Frames along a Path bypass what the kernel does to outgoing packets: filters, address translation (a destination
// that exists only in a NAT rule has a route, but no host), IPsec, queueing disciplines.
//
// Frames to a group do not reach members on this host.
package neigh
