// Package frame builds and checks the Ethernet frames of UDP datagrams. The kernel does that for a socket; a program
// that uses AF_XDP must do it itself.
//
// To send, Init builds a Header for a destination: Ethernet, up to two VLAN tags, IPv4 or IPv6, UDP. Put copies it
// before a payload and sets the fields that differ between datagrams: lengths, the identification of IPv4, checksums.
// Header checksums are not computed from the start: the sums of constant fields are stored, and the other fields are
// added (RFC 1624). Seal, with a Sum, is for payload in several places.
//
//	var h frame.Header
//	err := h.Init(&frame.Config{SrcMAC: ours, DstMAC: theirs, Src: local, Dst: peer})
//	n := h.Put(buf, payload, id)
//
// To receive, Rules.Parse checks a frame as the kernel would (ip_rcv, ip6_rcv, udp_rcv, udpv6_rcv and the checks of
// addresses in their routing), and returns the reason if it refuses the frame. It also refuses what XDP programs
// leave to the kernel: fragments, IP options and extension headers. ParseList parses frames in several buffers.
//
// This package does not allocate, does not block and keeps no state between calls. Several goroutines may use a
// Header while none changes it.
package frame
