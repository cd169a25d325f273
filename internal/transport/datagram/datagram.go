// Package datagram is the interface between a provider of datagrams and the layers above it: ports that send and
// receive datagrams in batches, without the posts and completions of an endpoint.
//
// One progress engine's lock guards everything of a domain, including the layers above it. "Locked" below means
// that the caller holds this lock.
package datagram

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/progress"
)

// Domain is the domain of a provider of datagrams as layers see it.
type Domain interface {
	core.DomainDriver
	// Progress returns the engine whose lock guards the domain's ports and the layers above.
	Progress() *progress.Engine
	// OpenPort opens a port at info.SrcAddr. Without an address or port number the system chooses one. From then on
	// the port calls r, locked. OpenPort itself is called without the lock.
	OpenPort(info *core.Info, r Receiver) (Port, error)
}

// Opaque is a Domain that stands for a network with its own properties, such as faults or a rate. No data may
// bypass its ports, not even between processes of one host.
type Opaque interface{ Opaque() }

// Port sends and receives datagrams. Its methods must be called locked.
type Port interface {
	// Local returns the port's address.
	Local() netip.AddrPort
	// MaxDatagram returns the largest datagram, in bytes of payload, that reaches dest without fragmentation, as
	// far as is known now (path MTU, RFC 8899).
	MaxDatagram(dest netip.AddrPort) int
	// MaxSegments returns the largest number of datagrams in one Send. It is 1 if GSO batches are not supported
	// (udp(7), UDP_SEGMENT), or not any more.
	MaxSegments() int
	// Send transmits the concatenation of parts to dest. If seg is 0, it is one datagram. Otherwise it is a GSO
	// batch of datagrams of seg bytes, of which the last may be shorter. A batch has at most MaxSegments datagrams
	// and 65,507 bytes. parts are borrowed for the call.
	//
	// core.ErrAgain: the port has no room now, and will call Receiver.Writable. Other errors: the datagrams are
	// lost, and the port counts them.
	Send(dest netip.AddrPort, parts [][]byte, seg int) error
	// Poll receives the datagrams that are there now, like a pass. Calls that wait use it.
	Poll()
	// Stats returns the counts since the port was opened.
	Stats() Stats
	// Close closes the port. It does not call the Receiver any more.
	Close() error
}

// Receiver receives the datagrams of a Port. Its methods are called locked.
type Receiver interface {
	// Received passes a datagram, or several from one source. Each has seg bytes, and the last may be shorter. b is
	// borrowed for the call.
	Received(from netip.AddrPort, b []byte, seg int)
	// Drained is called when all datagrams have been passed. It is a good time to send acknowledgements.
	Drained()
	// Writable is called when there is room again after core.ErrAgain.
	Writable()
	// Lost is called when the port has failed and receives no more.
	Lost(err error)
}

// Idler is a Receiver that is called after passes that found nothing, so that datagrams that it delays for a batch
// can leave. Only ports that poll their socket call it.
type Idler interface {
	// Idle is called locked.
	Idle()
}

// Refusals is a Receiver that wants to know the destinations that are unreachable according to ICMP, if the port
// can report them. This is only a hint, since ICMP messages can be lost or forged (RFC 5927).
type Refusals interface {
	// Refused is called when a datagram to dest was not delivered, because the port or the host is unreachable (RFC
	// 792). It is called locked, but never from Send.
	Refused(dest netip.AddrPort, err error)
}

// Buffered is a Port that knows the size of its receive queue.
type Buffered interface {
	// ReceiveBuffer returns the size of the receive queue in bytes (socket(7), SO_RCVBUF). The system's own
	// overhead counts against it. 0: not known.
	ReceiveBuffer() int
}

// Joiner is a Port that can join multicast groups.
type Joiner interface {
	Join(group netip.Addr) error
	Leave(group netip.Addr) error
}

// Stats are the counts of a port.
type Stats struct {
	SentDatagrams, SentBytes         uint64
	ReceivedDatagrams, ReceivedBytes uint64
	SendErrors                       uint64 // datagrams lost in Send
	// Datagrams dropped because the receive queue was full, if the system reports them.
	Overflows uint64
	Truncated uint64 // datagrams longer than the receive buffers
	// Datagrams among the above that bypassed the system's network stack (AF_XDP).
	BypassSent, BypassReceived uint64
	// Datagrams among the above that passed through memory shared with ports of this host.
	MemorySent, MemoryReceived uint64
	BypassRefused              uint64 // frames for the port from AF_XDP that were no valid datagrams
}
