package datagram

import "gofabric/core"

// Linker is a Port whose link can be changed (FI_UDP_LINK).
type Linker interface {
	// Link returns the link in use: core.LinkSockets or core.LinkXDP. Locked.
	Link() core.DatagramLink
	// SetLink changes the link. core.LinkXDP fails if AF_XDP is not available, and leaves the link unchanged.
	// core.LinkAuto falls back to sockets. SetLink passes datagrams that the old link has received to the Receiver.
	// Locked, but not called from a Receiver.
	SetLink(core.DatagramLink) error
}

// Link returns the value of core.OptDatagramLink for a port. Locked.
func Link(p Port) (int, error) {
	if l, ok := p.(Linker); ok {
		return int(l.Link()), nil
	}
	return 0, core.ErrNoProtoOpt
}

// SetLink sets core.OptDatagramLink of a port. Locked.
func SetLink(p Port, to int) error {
	l, ok := p.(Linker)
	if !ok {
		return core.ErrNoProtoOpt
	}
	return l.SetLink(core.DatagramLink(to))
}
