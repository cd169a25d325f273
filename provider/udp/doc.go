// Package udp is the udp provider: datagrams over UDP sockets, one per endpoint, unreliable as the network is
// (fi_udp(7)).
//
// Its domain offers ports to layers (package datagram), and its DGRAM endpoint stands on a port, too. A port has a
// socket, which the passes of the domain's progress engine read. Every datagram on the wire is one datagram of a
// caller. Nothing is added, so that any UDP program can be the peer.
//
//	Port.Send -> datapath: sendto; sendmsg with UDP_SEGMENT for runs of equal datagrams (GSO); sendmmsg without GSO
//	cq.Read -> progress pass -> socket.receive -> datapath -> datagram.Receiver.Received ... Drained
//
// A datapath (FI_UDP_LINK) moves a socket's datagrams to and from the system: plain sockets, batches, or AF_XDP. While
// datagrams come one by one, a batch datapath makes the cheapest receive, recvfrom, once per pass. After the first
// burst it receives runs (recvmsg with UDP_GRO), and many small datagrams with one call (recvmmsg). Where the
// system lacks such a call, or refuses it at run time, the datapath sends and receives one by one.
// docs/decisions/0007-datagram-sockets.md gives the reasons.
//
// An AF_XDP datapath (datapath_xdp_linux.go) stands above the socket's datapath and bypasses the kernel's network
// stack where it can. It receives frames from the interface, and sends frames whose headers it makes itself
// (packages xdp, xdp/frame, neigh). docs/af-xdp.md is for its users.
//
// Between ports of one host that both poll, datagrams go through memory that the two share, beside their sockets
// (datapath_shm.go, samehost.go, internal/samehost; docs/decisions/0014-memory-for-datagrams.md, docs/wire/udp.md).
//
// Datagrams are not fragmented, so that layers learn what a path takes (MaxDatagram, core.ErrMsgSize). There is one
// exception: a DGRAM endpoint may send FI_UDP_MTU bytes, and such a datagram is fragmented if the path does not
// take it in one piece, as native's are.
package udp
