package oblige

import (
	"errors"
	"fmt"
	"math/bits"

	"gofabric/core"
)

// NotOffered is the error of a call for something that the Info says, or a missing call shows, the provider does not have.
type NotOffered struct {
	What string
	Err  error
}

func (e *NotOffered) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns what the provider said.
func (e *NotOffered) Unwrap() error { return e.Err }

// missing turns the error of a call that the provider does not have into a NotOffered.
func missing(call string, err error) error {
	if errors.Is(err, core.ErrNoSys) {
		return &NotOffered{call, err}
	}
	return err
}

// Demands are what a stack demands of its applications, whatever these are.
type Demands struct {
	Mode   core.Mode
	MRMode core.MRMode
	Prefix int // bytes, with ModeMsgPrefix
}

// Overlay stands above another overlay. Its methods are safe for concurrent use after Probe.
type Overlay struct {
	Below   core.Overlay
	Demands Demands
}

// modes and mrModes are all that anybody may demand.
var (
	modes   = []core.Mode{core.ModeContext, core.ModeContext2, core.ModeMsgPrefix, core.ModeAsyncIOV}
	mrModes = []core.MRMode{core.MRModeLocal, core.MRModeVirtAddr, core.MRModeAllocated, core.MRModeProvKey, core.MRModeEndpoint}
)

// Probe finds out what is demanded, by asking for hints with and without each mode, and returns the Info of the stack.
func (o *Overlay) Probe(hints *core.Info, get func(*core.Info) ([]*core.Info, error)) (*core.Info, error) {
	caps := core.CapMsg | core.CapRMA
	full := func() *core.Info {
		h := hints.Dup()
		h.Caps = caps
		for _, m := range modes {
			h.Mode |= m
		}
		for _, m := range mrModes {
			h.Domain.MRMode |= m
		}
		return h
	}
	list, err := get(full())
	if err != nil {
		caps = core.CapMsg
		list, err = get(full())
	}
	if err != nil {
		return nil, err
	}
	o.Demands.Prefix = list[0].EP.MsgPrefixSize
	for _, m := range modes {
		h := full()
		h.Mode &^= m
		if _, err := get(h); err != nil {
			o.Demands.Mode |= m
		}
	}
	for _, m := range mrModes {
		h := full()
		h.Domain.MRMode &^= m
		if _, err := get(h); err != nil {
			o.Demands.MRMode |= m
		}
	}
	return list[0], nil
}

// Hints are hints with all that is demanded offered, and receives for remote CQ data, of which the Info then says whether it takes any (FI_RX_CQ_DATA).
func (o *Overlay) Hints(hints *core.Info) *core.Info {
	if hints == nil {
		return nil
	}
	h := hints.Dup()
	h.Mode |= o.Demands.Mode | core.ModeRxCQData
	if h.Domain != nil {
		h.Domain.MRMode |= o.Demands.MRMode
	}
	return h
}

// quiet are the modes that nobody above needs to know of.
const quiet = core.MRModeLocal

// Results hides from the results of GetInfo what this package does by itself, and says of what there is none why.
func (o *Overlay) Results(hints *core.Info, list []*core.Info, refusals []core.Refusal, err error) ([]*core.Info, error) {
	if errors.Is(err, core.ErrNoData) && len(refusals) > 0 {
		return nil, &NotOffered{reason(hints, refusals), err}
	}
	for _, i := range list {
		keep := core.Mode(0)
		mr := core.MRMode(0)
		if hints != nil {
			keep = hints.Mode
			if hints.Domain != nil {
				mr = hints.Domain.MRMode
			}
		}
		off := o.Demands.Mode &^ keep
		i.Mode &^= off
		i.Tx.Mode &^= off
		i.Rx.Mode &^= off
		i.Domain.MRMode &^= o.Demands.MRMode & quiet &^ mr
		if off&core.ModeMsgPrefix != 0 {
			i.EP.MsgPrefixSize = 0
		}
	}
	return list, err
}

// reason is why the stack that was asked for offers nothing.
func reason(hints *core.Info, refusals []core.Refusal) string {
	for _, r := range refusals {
		if r.Provider == hints.Fabric.ProvName && (r.EPType == hints.EP.Type || r.EPType == core.EPTypeUnspec) {
			return r.Reason
		}
	}
	return refusals[0].Reason
}

// honest returns a copy of info with what Results has hidden.
func (o *Overlay) honest(info *core.Info) *core.Info {
	if info == nil {
		return nil
	}
	i := info.Dup()
	i.Mode |= o.Demands.Mode
	if i.Tx != nil {
		i.Tx.Mode |= o.Demands.Mode
	}
	if i.Rx != nil {
		i.Rx.Mode |= o.Demands.Mode
	}
	if i.Domain != nil {
		i.Domain.MRMode |= o.Demands.MRMode
	}
	if i.EP != nil && o.Demands.Mode&core.ModeMsgPrefix != 0 {
		i.EP.MsgPrefixSize = o.Demands.Prefix
	}
	return i
}

// Offer implements core.Overlay.
func (o *Overlay) Offer(offer, hints *core.Info) string { return o.Below.Offer(offer, hints) }

// Narrow implements core.Overlay.
func (o *Overlay) Narrow(info, hints *core.Info) { o.Below.Narrow(info, hints) }

// OpenFabric implements core.Overlay.
func (o *Overlay) OpenFabric(info *core.Info, below core.Fabric) (core.Fabric, error) {
	b, err := o.Below.OpenFabric(info, below)
	if err != nil {
		return nil, err
	}
	return &fabric{Fabric: b, o: o, outer: map[core.Object]core.Object{}}, nil
}

// beyond says what of a call is more than info offers, "" if nothing.
func (p *op) beyond(info *core.Info) string {
	n := 0
	for _, b := range p.iov {
		n += len(b)
	}
	iovs := info.Tx.IOVLimit
	if p.rx {
		iovs = info.Rx.IOVLimit
	}
	switch {
	case iovs > 0 && len(p.iov) > iovs:
		return fmt.Sprintf("%d buffers in one operation (iov_limit %d)", len(p.iov), iovs)
	case info.Tx.RMAIOVLimit > 0 && p.rma > info.Tx.RMAIOVLimit:
		return fmt.Sprintf("%d remote ranges in one operation (rma_iov_limit %d)", p.rma, info.Tx.RMAIOVLimit)
	case !p.rx && info.EP.MaxMsgSize > 0 && n > info.EP.MaxMsgSize:
		return fmt.Sprintf("transfers of %d bytes (max_msg_size %d)", n, info.EP.MaxMsgSize)
	case p.inject && p.name != "fi_readmsg" && n > info.Tx.InjectSize:
		return fmt.Sprintf("injecting %d bytes (inject_size %d)", n, info.Tx.InjectSize)
	}
	if n := info.Domain.CQDataSize; p.hasData && n < 8 && p.data>>(8*n) != 0 {
		return fmt.Sprintf("remote CQ data %#x (cq_data_size %d)", p.data, n)
	}
	f := info.EP.MemTagFormat
	if top := uint64(1)<<bits.Len64(f) - 1; p.tagged && f != 0 && (p.tag > top || p.ignore != ^uint64(0) && p.ignore > top) {
		return fmt.Sprintf("a tag %#x, or ignored bits %#x (mem_tag_format %#x)", p.tag, p.ignore, f)
	}
	return ""
}
