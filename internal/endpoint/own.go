package endpoint

import "gofabric/core"

// The parts of an Endpoint for endpoints that implement their data calls themselves, such as those of datagrams.

// DefaultFlags returns the operation flags of the plain calls of a direction, BindTransmit or BindRecv
// (fi_endpoint(3), op_flags). Locked.
func (e *Endpoint) DefaultFlags(dir core.BindFlags) core.OpFlags {
	if dir == core.BindRecv {
		return e.rxFlags
	}
	return e.txFlags
}

// SilentTx and SilentRx report whether an operation posted with flags gets no queue entry when it succeeds
// (fi_endpoint(3), FI_SELECTIVE_COMPLETION). Locked.
func (e *Endpoint) SilentTx(flags core.OpFlags) bool {
	return e.txQuiet && flags&core.OpCompletion == 0
}
func (e *Endpoint) SilentRx(flags core.OpFlags) bool {
	return e.rxQuiet && flags&core.OpCompletion == 0
}

// TransmitRoom reports whether the shared transmit context, if one is bound, has room for another operation.
// CountTransmits adds n to the endpoint's operations in progress there. n may be negative. Locked.
func (e *Endpoint) TransmitRoom() bool { return e.stx == nil || !e.stx.full() }
func (e *Endpoint) CountTransmits(n int) {
	if e.stx != nil {
		e.stx.used += n
	}
}

// SilentRx is Endpoint.SilentRx for a receive posted to the shared context. DefaultFlags are the flags of the plain
// calls there. Locked.
func (s *SharedRx) SilentRx(flags core.OpFlags) bool { return *s.quiet && flags&core.OpCompletion == 0 }
func (s *SharedRx) DefaultFlags() core.OpFlags       { return s.opFlags }

// Reporter returns the endpoint that reports what e has received: the context's own if it has queues, else e.
// Locked.
func (s *SharedRx) Reporter(e *Endpoint) *Endpoint {
	if s.own != nil {
		return s.own
	}
	return e
}
