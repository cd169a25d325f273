// Package datagram is what a provider of datagrams offers to the layers above it: ports that send and receive datagrams in batches, without the posts and
// completions of an endpoint.
//
// Everything of a domain, the layers above it included, runs under the lock of one progress engine. "Locked" below means that the caller holds it.
package datagram

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/progress"
)

// Domain is the domain of a provider of datagrams, as layers see it.
type Domain interface {
	core.DomainDriver
	// Progress is the engine whose lock guards the domain's ports and what stands on them.
	Progress() *progress.Engine
	// OpenPort opens a port at info.SrcAddr; without an address or port number the system chooses. Not locked. r is called from then on, locked.
	OpenPort(info *core.Info, r Receiver) (Port, error)
}

// Opaque is a Domain whose ports stand for a network with properties of its own, such as faults or a rate: nothing may go around it, not even between
// processes of one host.
type Opaque interface{ Opaque() }

// Port sends and receives datagrams. Its methods must be called locked.
type Port interface {
	// Local is the port's address.
	Local() netip.AddrPort
	// MaxDatagram is the largest datagram, bytes of payload, that goes to dest in one piece, as far as is known now.
	MaxDatagram(dest netip.AddrPort) int
	// MaxSegments is how many datagrams one Send can take; 1 where runs are not supported (or not any more).
	MaxSegments() int
	// Send transmits the concatenation of parts to dest: as one datagram if seg is 0, else as a run of datagrams of seg bytes, of which the last may be
	// shorter; a run is at most MaxSegments datagrams and 65,507 bytes. parts are borrowed for the call.
	//
	// core.ErrAgain: the port takes no more now; Receiver.Writable follows. Another error: the datagrams are lost, as datagrams may be; the port counts it.
	Send(dest netip.AddrPort, parts [][]byte, seg int) error
	// Poll receives what there is now, as a pass does; for callers that wait inside a call.
	Poll()
	// Stats returns the counts since the port was opened.
	Stats() Stats
	// Close closes the port; the Receiver is not called again.
	Close() error
}

// Receiver takes what comes to a Port. Its methods are called locked.
type Receiver interface {
	// Received brings a datagram, or a run of datagrams from one source: seg bytes each, the last may be shorter. b is borrowed.
	Received(from netip.AddrPort, b []byte, seg int)
	// Drained tells that all that had come was brought: a good moment to answer.
	Drained()
	// Writable tells that a Send that failed with core.ErrAgain is worth another try.
	Writable()
	// Lost tells that the port brings nothing any more.
	Lost(err error)
}

// Idler is a Receiver that wants to know of passes that found nothing, so that what it held back for company leaves. Ports that are told of what comes, and
// do not look for it, never call it.
type Idler interface {
	// Idle is called locked.
	Idle()
}

// Refusals is a Receiver that wants to know which destinations the network says it cannot reach (ICMP), where the port can tell. That is a hint: such words
// can be lost, and forged.
type Refusals interface {
	// Refused tells that a datagram to dest did not arrive: nobody is at that port, or no way leads there. It is called locked, never from Send.
	Refused(dest netip.AddrPort, err error)
}

// Buffered is a Port that knows how much may wait for it before datagrams are lost.
type Buffered interface {
	// ReceiveBuffer is the size of the receive queue in bytes, as the system counts, which is more than what the datagrams hold. 0: not known.
	ReceiveBuffer() int
}

// Joiner is a Port that can join multicast groups.
type Joiner interface {
	Join(group netip.Addr) error
	Leave(group netip.Addr) error
}

// Stats counts what a port did.
type Stats struct {
	SentDatagrams, SentBytes         uint64
	ReceivedDatagrams, ReceivedBytes uint64
	SendErrors                       uint64 // datagrams lost in Send
	Overflows                        uint64 // datagrams that the receive queue had no room for, where the system tells
	Truncated                        uint64 // datagrams longer than any buffer
	BypassSent, BypassReceived       uint64 // of the datagrams, those that did not go through the system's stack (AF_XDP)
	MemorySent, MemoryReceived       uint64 // of the datagrams, those that went through memory shared with ports of this host
	BypassRefused                    uint64 // frames that came for the port, past the system's stack, and were no good datagrams
}
