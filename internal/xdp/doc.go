// Package xdp sends and receives Ethernet frames past the kernel's network stack, through AF_XDP sockets (Linux 5.10 or later, as root or with capabilities).
//
// # The model
//
// An XDP program runs where packets arrive on an interface, before the kernel makes sockets' packets of them. The one of this package (instructions.go) looks
// at UDP packets only: if the destination, with the VLANs it is in, is in its map of live ports, the packet goes to the AF_XDP socket of the queue it came
// on, else, as everything that is not UDP, is fragmented, is multicast or is longer than the MTU, to the kernel as if nothing were there. The program is
// attached by a link that this process holds: when the process ends, however it ends, the program and its maps go. In generic mode it has two forms, which take
// turns (forms.go).
//
// An AF_XDP socket belongs to one queue of one interface. It shares memory with the kernel, the umem: chunks of 2048 or 4096 bytes, one packet or a part of
// one in each. Who may touch a chunk is told through four rings in shared memory:
//
//	fill        to the kernel: chunks to receive into
//	receive     from the kernel: packets that came
//	transmit    to the kernel: packets to send
//	completion  from the kernel: chunks that have been sent
//
// So receiving is reading memory; transmitting takes one system call for as many packets as wait in the ring, except with drivers that look by themselves.
// Without zero-copy (most virtual interfaces) the kernel copies between the chunks and its own buffers; the same program runs either way. Then a packet that leaves
// alone had better go past the rings, by a packet socket (single.go), and the program is better off the interface while large messages come that others' sockets
// receive (aside.go, move.go): whoever counts these tells with Came.
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
//	errno = p.SendSingle(packet)               // instead of the three, for one that leaves alone, if p.Single()
//	wait until p.FD() is readable              // Watch(false) for who never does
//
// Ports share the sockets of the interface. A Receive that finds packets of other ports puts them into the boxes of those, with nothing copied, and makes
// their FD readable. Each queue has one lock for each direction, held for some tens of nanoseconds and never during a system call that transmits.
//
// Packets are not looked at further than the program does. Two things are to be known by who validates them:
//
//   - A packet from a socket of the same host, over a virtual interface, as a rule carries no finished UDP checksum: the kernel leaves that to the network
//     card (CHECKSUM_PARTIAL, Documentation/networking/checksum-offloads.rst), and there is none. See frame.Rules.Unfinished.
//   - Nothing that the kernel does to packets on their way to sockets has been done: no firewall rules, no address translation, no reverse path check.
package xdp
