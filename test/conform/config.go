package conform

// Options of the fixture. They change how the two sides of a Pair are opened.

import "gofabric/core"

// Option changes how Open opens a Pair.
type Option func(*config)

type config struct {
	caps       core.Caps
	hints      func(h *core.Info)
	sideHints  func(side string, h *core.Info) // of side A or B
	cq         core.CQAttr
	av         core.AVAttr
	splitCQ    bool // separate queues for transmits and receives
	bindFlags  core.BindFlags
	before     func(s *Side) // after the binds, before Enable
	shareB     *Side         // the B side is in this side's fabric, domain, queues and vector
	connData   []byte
	acceptData []byte
	apart      bool          // inserts the names of RDM endpoints; nil: without changes
	introduce  func(p *Pair) // inserts the names of RDM endpoints; nil: as they are
	noPeerInAV bool          // B does not have A's address
}

// WithCaps requests capabilities beyond messages.
func WithCaps(c core.Caps) Option { return func(k *config) { k.caps |= c } }

// WithHints changes the hints before GetInfo.
func WithHints(f func(h *core.Info)) Option {
	return func(k *config) {
		prev := k.hints
		k.hints = func(h *core.Info) {
			if prev != nil {
				prev(h)
			}
			f(h)
		}
	}
}

// WithRxSize requests a receive queue of n operations.
func WithRxSize(n int) Option { return WithHints(func(h *core.Info) { h.Rx.Size = n }) }

// WithMRMode requests memory registration modes.
func WithMRMode(m core.MRMode) Option { return WithHints(func(h *core.Info) { h.Domain.MRMode = m }) }

// WithCQ sets the attributes of the completion queues.
func WithCQ(a core.CQAttr) Option { return func(k *config) { k.cq = a } }

// WithAV sets the attributes of the address vectors.
func WithAV(a core.AVAttr) Option { return func(k *config) { k.av = a } }

// WithSplitCQ gives each side separate transmit and receive queues.
func WithSplitCQ() Option { return func(k *config) { k.splitCQ = true } }

// WithSelective binds the queues with BindSelectiveCompletion.
func WithSelective() Option { return func(k *config) { k.bindFlags |= core.BindSelectiveCompletion } }

// WithBefore calls f for each side just before Enable.
func WithBefore(f func(s *Side)) Option { return func(k *config) { k.before = f } }

// WithSharedB opens the B side next to b: in the same fabric and domain, with the same queues and vector, but its own
// endpoint.
func WithSharedB(b *Side) Option { return func(k *config) { k.shareB = b } }

// WithoutPeer leaves A out of B's address vector.
func WithoutPeer() Option { return func(k *config) { k.noPeerInAV = true } }

// withAuto requests automatic data progress.
func withAuto() Option {
	return WithHints(func(h *core.Info) {
		h.Domain.DataProgress = core.ProgressAuto
		h.Domain.ControlProgress = core.ProgressAuto
	})
}

func makeConfig(opts []Option) config {
	k := config{caps: core.CapMsg, cq: core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec}}
	for _, o := range opts {
		o(&k)
	}
	return k
}
