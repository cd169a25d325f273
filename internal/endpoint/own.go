package endpoint

import "gofabric/core"

// What endpoints need that have data calls of their own.

// DefaultFlags are the operation flags of the plain calls of a direction, BindTransmit or BindRecv (fi_endpoint(3), op_flags). Locked.
func (e *Endpoint) DefaultFlags(dir core.BindFlags) core.OpFlags {
	if dir == core.BindRecv {
		return e.rxFlags
	}
	return e.txFlags
}

// SilentTx and SilentRx say whether an operation posted with flags gets no queue entry if it succeeds (fi_endpoint(3), FI_SELECTIVE_COMPLETION). Locked.
func (e *Endpoint) SilentTx(flags core.OpFlags) bool {
	return e.txQuiet && flags&core.OpCompletion == 0
}
func (e *Endpoint) SilentRx(flags core.OpFlags) bool {
	return e.rxQuiet && flags&core.OpCompletion == 0
}

// TransmitRoom says whether a further operation fits into the shared transmit context, if one is bound; CountTransmits says how many more, or fewer, of the
// endpoint's are under way. Locked.
func (e *Endpoint) TransmitRoom() bool { return e.stx == nil || !e.stx.full() }
func (e *Endpoint) CountTransmits(n int) {
	if e.stx != nil {
		e.stx.used += n
	}
}

// SilentRx is Endpoint.SilentRx of a receive posted to the shared context, and DefaultFlags what the plain calls there have. Locked.
func (s *SharedRx) SilentRx(flags core.OpFlags) bool { return *s.quiet && flags&core.OpCompletion == 0 }
func (s *SharedRx) DefaultFlags() core.OpFlags       { return s.opFlags }

// Reporter is who reports what came for e: the context, if it has queues of its own. Locked.
func (s *SharedRx) Reporter(e *Endpoint) *Endpoint {
	if s.own != nil {
		return s.own
	}
	return e
}
