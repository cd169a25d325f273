// Package udp is the udp provider: datagrams over UDP sockets, one per endpoint, unreliable as the network is (fi_udp(7)).
//
// Its domain offers layers ports (package dgram); the DGRAM endpoint stands on a port, too. A port has a socket, which passes of the domain's progress
// engine read. Every datagram on the wire is one datagram of a caller: nothing is added, so that any UDP program can be the peer.
//
//	Port.Send -> link: sendto; sendmsg with UDP_SEGMENT for runs of equal datagrams (GSO), sendmmsg where the system takes no runs
//	cq.Read -> progress pass -> socket.receive -> link -> datagram.Receiver.Received ... Drained
//
// A link (FI_UDP_LINK) is how a socket's datagrams pass to and from the system: plain sockets, batches, or AF_XDP. A batch link begins with the cheapest receive,
// recvfrom, once per pass while datagrams come one by one. After the first burst it receives runs (recvmsg with UDP_GRO), and many small datagrams with one
// call (recvmmsg). What the system lacks, or refuses at run time, is done one by one. docs/decisions/0007-datagram-sockets.md says why.
//
// An AF_XDP link (link_xdp_linux.go) stands above that of the socket, and moves what it can past the system's stack: it receives from the interface, and sends
// frames whose headers it makes itself (packages xdp, xdp/frame, neigh). docs/af-xdp.md is for its users.
//
// Between ports of one host that poll, datagrams go through memory that both share, beside their sockets (link_memory.go, samehost.go, internal/samehost;
// docs/decisions/0014-memory-for-datagrams.md, docs/wire/udp.md).
//
// Datagrams are not fragmented, so that layers learn what a path takes (MaxDatagram, core.ErrMsgSize), with one exception: what a DGRAM endpoint may send
// (FI_UDP_MTU bytes) and the path does not take in one piece goes in several, as native's datagrams do.
package udp
