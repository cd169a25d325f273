package datagram

import "gofabric/core"

// Linker is a Port that can choose how datagrams pass to and from the system.
type Linker interface {
	// Link is what is in use: core.LinkSockets or core.LinkXDP. Locked.
	Link() core.DatagramLink
	// SetLink changes it. core.LinkXDP fails if that cannot be had, and nothing has changed; core.LinkAuto does not. What came by the
	// link until now goes to the Receiver meanwhile. Locked, not from a Receiver.
	SetLink(core.DatagramLink) error
}

// Link answers core.OptDatagramLink for a port. Locked.
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
