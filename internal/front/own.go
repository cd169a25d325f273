package front

import "gofabric/core"

// What endpoints need that have data calls of their own.

// DefaultFlags are the operation flags of the plain calls of a direction, Transmit or Recv (fi_endpoint(3), op_flags). Locked.
func (e *Endpoint) DefaultFlags(dir core.Flags) core.Flags {
	if dir == core.Recv {
		return e.rxFlags
	}
	return e.txFlags
}

// SilentTx and SilentRx say whether an operation posted with flags gets no queue entry if it succeeds (fi_endpoint(3), FI_SELECTIVE_COMPLETION). Locked.
func (e *Endpoint) SilentTx(flags core.Flags) bool { return e.txQuiet && flags&core.Completion == 0 }
func (e *Endpoint) SilentRx(flags core.Flags) bool { return e.rxQuiet && flags&core.Completion == 0 }
