// Package xdp sends and receives Ethernet frames past the kernel's network stack, through AF_XDP sockets (Linux 5.10 or later, as root or with capabilities).
//
// # The model
//
// An XDP program runs where packets arrive on an interface, before the kernel's stack. The program of this package (instructions.go) redirects UDP packets whose
// destination address, port and VLANs are in its map of live ports to the AF_XDP socket of the queue they came on. Everything else it passes on to the kernel's stack:
// other destinations and protocols, fragments, multicast, packets longer than the MTU. The program is attached by a BPF link that this process holds: when the process
// ends, however it ends, the program and its maps go. In generic mode it has two forms (forms.go).
//
// An AF_XDP socket belongs to one queue of one interface. It shares memory with the kernel, the umem: chunks of 2048 or 4096 bytes, with one packet or a part of
// one in each. Four rings in shared memory say whose a chunk is:
//
//	fill        to the kernel: chunks to receive into
//	receive     from the kernel: packets that came
//	transmit    to the kernel: packets to send
//	completion  from the kernel: chunks that have been sent
//
// So receiving is reading memory. Transmitting takes one system call for all packets in the ring, and none where the driver polls the ring. Without zero-copy (most
// virtual interfaces) the kernel copies between the chunks and its own buffers; a single packet then leaves faster by a packet socket (packetsocket.go).
//
// # How to use it
//
//	i, err := xdp.Open("eth0", xdp.Config{})   // one Interface in a process, however often it is opened
//	p, err := i.Bind(addrPort)                 // of a UDP socket that is bound there, too
//	n := p.Receive(frames)                     // whole packets from the Ethernet header on; Frame.More: goes on in the next frame
//	p.Release(frames[:n])
//	n = p.Reserve(frames)                      // room for packets
//	frames[0].Data = frames[0].Data[:size]
//	errno := p.Submit(frames[:1])
//	errno = p.Flush()
//	errno = p.SendPacket(packet)               // instead of the three, for a single packet, if p.HasPacketSocket()
//	wait until p.FD() is readable              // if the caller polls instead: Watch(false)
//
// Ports share the sockets of the interface. A Receive that finds packets of other ports appends them to the backlogs of those, with nothing copied, and makes
// their FD readable. Each queue has one lock for each direction, held for some tens of nanoseconds and never during a system call that transmits.
//
// Packets are checked no further than the program does. Code that validates them has to know two things:
//
//   - A packet from a socket of the same host, over a virtual interface, as a rule carries no finished UDP checksum: the kernel leaves that to the network
//     card (CHECKSUM_PARTIAL, Documentation/networking/checksum-offloads.rst), and there is none. See frame.Rules.Unfinished.
//   - Nothing that the kernel does to packets on their way to sockets has been done: no firewall rules, no address translation, no reverse path check.
package xdp
