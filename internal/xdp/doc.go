// Package xdp sends and receives Ethernet frames past the kernel's network stack, through AF_XDP sockets (Linux 5.10
// or later, as root or with capabilities).
//
// # The model
//
// An XDP program runs where packets arrive on an interface, before the kernel's stack. The program of this package
// (instructions.go) redirects UDP packets whose destination address, port and VLANs are in its map of live ports.
// They go to the AF_XDP socket of their queue. All other packets go to the kernel's stack: other destinations and
// protocols, fragments, multicast, packets longer than the MTU. The program is attached by a BPF link that this
// process holds. When the process ends for any reason, the kernel removes the program and its maps. In generic mode
// the program has two forms (forms.go).
//
// An AF_XDP socket belongs to one queue of one interface. It shares memory with the kernel, the umem: chunks of 2048
// or 4096 bytes. Each chunk has one packet or a part of one. Four rings in shared memory transfer the ownership of
// chunks:
//
//	fill        to the kernel: chunks to receive into
//	receive     from the kernel: received packets
//	transmit    to the kernel: packets to send
//	completion  from the kernel: chunks that have been sent
//
// So receiving is reading memory. Transmitting takes one system call for all packets in the ring, and none if the
// driver polls the ring. Without zero-copy (most virtual interfaces) the kernel copies between the chunks and its own
// buffers. A single packet then leaves faster through a packet socket (packetsocket.go).
//
// # How to use it
//
//	i, err := xdp.Open("eth0", xdp.Config{})   // one Interface in a process, opened any number of times
//	p, err := i.Bind(addrPort)                 // a UDP socket is bound there, too
//	n := p.Receive(frames)                     // whole packets with Ethernet header; Frame.More: see the next frame
//	p.Release(frames[:n])
//	n = p.Reserve(frames)                      // room for packets
//	frames[0].Data = frames[0].Data[:size]
//	errno := p.Submit(frames[:1])
//	errno = p.Flush()
//	errno = p.SendPacket(packet)               // instead, for a single packet, if p.HasPacketSocket()
//	wait until p.FD() is readable              // if the caller polls instead: Watch(false)
//
// Ports share the sockets of the interface. A Receive that finds packets of other ports appends them to the backlogs
// of those ports without a copy, and makes their FD readable. Each queue has one lock for each direction. It is held
// for some tens of nanoseconds, and never during a system call that transmits.
//
// Packets are checked only by the program. Code that validates them must know two things:
//
//   - A packet from a socket of the same host, over a virtual interface, usually has no finished UDP checksum. The
//     kernel leaves that to the network card (CHECKSUM_PARTIAL, Documentation/networking/checksum-offloads.rst), and
//     there is no card. See frame.Rules.Unfinished.
//   - The kernel has not processed the packet as it does for sockets: no firewall rules, no address translation, no
//     reverse path check.
package xdp
