package record

import (
	"gofabric/core"
	"gofabric/util/hook"
)

// Hook stands above another hook, or above the stack.
type Hook struct {
	Below core.Hook // may be nil
	R     *Recorder
}

// Offer implements core.Hook.
func (h *Hook) Offer(offer, hints *core.Info) string {
	if h.Below == nil {
		return ""
	}
	return h.Below.Offer(offer, hints)
}

// Narrow implements core.Hook.
func (h *Hook) Narrow(info, hints *core.Info) {
	if h.Below != nil {
		h.Below.Narrow(info, hints)
	}
}

// OpenFabric implements core.Hook.
func (h *Hook) OpenFabric(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	if h.R.Lacks("fi_fabric") {
		return nil, core.ErrNoSys
	}
	if h.Below != nil {
		b, err := h.Below.OpenFabric(info, below)
		if err != nil {
			return nil, err
		}
		below = b
	}
	h.R.call("fi_fabric", nil)
	return &fabric{hook.Fabric{FabricDriver: below}, object{h.R, below}}, nil
}

// object is the common part of all objects of the package.
type object struct {
	r     *Recorder
	below core.Object
}

// over returns the object above below.
func (o object) over(below core.Object) object { return object{o.r, below} }

// Close closes the object below.
func (o object) Close() error { return o.r.do("fi_close", o.below.Close) }
