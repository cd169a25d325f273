// Package neigh knows the way to a destination as a sender of Ethernet frames needs it: the interface, the source address, the Ethernet addresses of both ends,
// VLAN tags and the size of packets. The kernel decides and resolves, as for a socket; this package asks it, through netlink (rtnetlink(7)), and follows what
// changes.
//
// A Table watches one network namespace: links, addresses, rules, routes and neighbours; Open returns the same one to all who open it. A View is how an
// endpoint sees it: from its source address. A Dest is what a peer keeps, 24 bytes, however many there are: what it points to is shared by all peers behind the
// same next hop.
//
//	t, err := neigh.Open()
//	v := t.View(local, ifindex)
//	p := v.Path(&peer.dest, peer.addr)   // for each datagram: some atomic loads
//	if p == nil { ... }                  // send through the socket; v.Why(&peer.dest) says why
//
// Path never waits and never enters the kernel. It returns nil as long as nothing is known, and a goroutine of the table asks meanwhile. A Path does not change;
// when the way does, Path returns another one, so that headers built from a Path are good as long as the pointer is the same. What makes a Path useless, an
// interface that goes down or a neighbour that does not answer, takes it away at once. Changes of routes, rules and addresses make every Dest ask again when it
// is next used (as the kernel's rt_genid does with what sockets remember); until the answer comes, the old Path serves. A table remembers what it has answered: a
// Dest that is new has its Path at once if another one, of a View with the same source, was answered since the last change.
//
// # Neighbours
//
// The kernel confirms a neighbour when it is heard from, and probes it when it is not while packets are sent to it (RFC 4861, 7.3; net/core/neighbour.c). It
// does not see the packets of AF_XDP, neither those sent nor those received, so the entries of neighbours that only such packets go to grow stale and are dropped
// in the end. So the table asks for neighbours that are in use and stale as a packet would: RTM_NEWNEIGH with NTF_USE, which calls neigh_event_send; the kernel
// then goes through DELAY and PROBE as always and the answers are its own. Entries that exist for nobody's use are let go. NTF_MANAGED, with which the kernel
// would do all that by itself, is not used: the entries would stay when the process dies. NTF_USE takes CAP_NET_ADMIN. Without it, the Path goes away when the
// neighbour gets stale; then the socket sends, the kernel probes, and the Path comes back.
//
// A neighbour that is not known is asked for in the same way. If it does not answer within a few seconds Why says so, and it is asked again, ever less often,
// while the Dest is in use.
//
// # Limits
//
// On systems other than Linux, Open returns errors.ErrUnsupported. Only Ethernet interfaces have Paths, and no others than those whose frames leave at the
// interface itself or below VLAN devices; a bridge or bond is an interface of its own. The MTU is that of interface and route; what is known of the path beyond
// is for the socket to say (IP_MTU in ip(7)).
//
// Routes are asked for by destination and source address. What else rules (ip-rule(8)) can look at, ports, marks and users, is not, and where a route has
// several next hops the kernel may choose another one for a socket. Frames that follow a Path are not seen by what the kernel does to packets on their way
// out: filters, address translation (a destination that exists only in a NAT rule has a route, and nobody there), IPsec, queueing disciplines.
//
// A frame to a group goes out, but not to members on this host.
package neigh
