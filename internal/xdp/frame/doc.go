// Package frame builds and checks the Ethernet frames that carry UDP datagrams: what the kernel does for a socket, and a program on AF_XDP does itself.
//
// To send, a Header is prebuilt for a destination with Init: Ethernet, up to two VLAN tags, IPv4 or IPv6, UDP. Put copies it in front of a payload and patches
// what differs between datagrams: lengths, the identification of IPv4, checksums. Header checksums are not computed anew: the sums of what stays are kept, and
// the rest is added (RFC 1624). For payload that lies in several places there are PutList, and Seal with a Sum for a frame that lies in several buffers.
//
//	var h frame.Header
//	err := h.Init(&frame.Config{SrcMAC: ours, DstMAC: theirs, Src: local, Dst: peer})
//	n := h.Put(buf, payload, id)
//
// To receive, Datagram.Parse looks at a frame as the kernel would (ip_rcv, ip6_rcv, udp_rcv, udpv6_rcv and the checks of addresses in their routing) and says
// why it is refused, if it is. What XDP programs leave to the kernel, fragments, IP options and extension headers, is refused, too. Frames that lie
// in several buffers are parsed with ParseList.
//
// Nothing here allocates, blocks or keeps state between calls. Headers may be used by several goroutines as long as none changes them.
package frame
