package datagram

import "gofabric/core"

// DatapathSetter is a Port whose datapath can be changed (FI_UDP_LINK).
type DatapathSetter interface {
	// Datapath returns the datapath in use: core.DatapathSockets or core.DatapathXDP. Locked.
	Datapath() core.Datapath
	// SetDatapath changes the datapath. core.DatapathXDP fails if AF_XDP is not available, and leaves the datapath
	// unchanged. core.DatapathAuto falls back to sockets. SetDatapath passes datagrams that the old datapath has
	// received to the Receiver. Locked, but not called from a Receiver.
	SetDatapath(core.Datapath) error
}

// Datapath returns the value of core.OptDatapath for a port. Locked.
func Datapath(p Port) (int, error) {
	if l, ok := p.(DatapathSetter); ok {
		return int(l.Datapath()), nil
	}
	return 0, core.ErrNoProtoOpt
}

// SetDatapath sets core.OptDatapath of a port. Locked.
func SetDatapath(p Port, to int) error {
	l, ok := p.(DatapathSetter)
	if !ok {
		return core.ErrNoProtoOpt
	}
	return l.SetDatapath(core.Datapath(to))
}
