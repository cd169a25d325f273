package comply

import (
	"errors"
	"fmt"
	"math/bits"

	"gofabric/core"
	"gofabric/util/hook"
)

// NotOffered is the error of a call for a feature that the provider does not offer, as the Info or a missing call
// shows.
type NotOffered struct {
	What string
	Err  error
}

func (e *NotOffered) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the provider's error.
func (e *NotOffered) Unwrap() error { return e.Err }

// missing turns the error of a call that the provider does not implement into a NotOffered.
func missing(call string, err error) error {
	if errors.Is(err, core.ErrNoSys) {
		return &NotOffered{call, err}
	}
	return err
}

// Demands are what a stack requires of its applications.
type Demands struct {
	Mode   core.Mode
	MRMode core.MRMode
	Prefix int // bytes, with ModeMsgPrefix
}

// Hook stands above another hook. Its methods are safe for concurrent use after Probe.
type Hook struct {
	Below   core.Hook
	Demands Demands
}

// modes and mrModes are all modes that a provider may require.
var (
	modes   = []core.Mode{core.ModeContext, core.ModeContext2, core.ModeMsgPrefix, core.ModeAsyncIOV}
	mrModes = []core.MRMode{core.MRModeLocal, core.MRModeVirtAddr, core.MRModeAllocated,
		core.MRModeProvKey, core.MRModeEndpoint}
)

// Probe finds the required modes by GetInfo with and without each mode, and returns the Info of the stack.
func (h *Hook) Probe(hints *core.Info, get func(*core.Info) ([]*core.Info, error)) (*core.Info, error) {
	caps := core.CapMsg | core.CapRMA
	full := func() *core.Info {
		want := hints.Dup()
		want.Caps = caps
		for _, m := range modes {
			want.Mode |= m
		}
		for _, m := range mrModes {
			want.Domain.MRMode |= m
		}
		return want
	}
	list, err := get(full())
	if err != nil {
		caps = core.CapMsg
		list, err = get(full())
	}
	if err != nil {
		return nil, err
	}
	h.Demands.Prefix = list[0].EP.MsgPrefixSize
	for _, m := range modes {
		want := full()
		want.Mode &^= m
		if _, err := get(want); err != nil {
			h.Demands.Mode |= m
		}
	}
	for _, m := range mrModes {
		want := full()
		want.Domain.MRMode &^= m
		if _, err := get(want); err != nil {
			h.Demands.MRMode |= m
		}
	}
	return list[0], nil
}

// Hints returns hints that offer all required modes, and request receives with remote CQ data. The Info then says
// whether such a receive takes a buffer (FI_RX_CQ_DATA).
func (h *Hook) Hints(hints *core.Info) *core.Info {
	if hints == nil {
		return nil
	}
	want := hints.Dup()
	want.Mode |= h.Demands.Mode | core.ModeRxCQData
	if want.Domain != nil {
		want.Domain.MRMode |= h.Demands.MRMode
	}
	return want
}

// quiet are the modes that applications need not know of.
const quiet = core.MRModeLocal

// Results removes from the results of GetInfo the modes that this package handles. If there are no results, it adds
// the reason.
func (h *Hook) Results(hints *core.Info, list []*core.Info, refusals []core.Refusal, err error) ([]*core.Info, error) {
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
		off := h.Demands.Mode &^ keep
		i.Mode &^= off
		i.Tx.Mode &^= off
		i.Rx.Mode &^= off
		i.Domain.MRMode &^= h.Demands.MRMode & quiet &^ mr
		if off&core.ModeMsgPrefix != 0 {
			i.EP.MsgPrefixSize = 0
		}
	}
	return list, err
}

// reason returns why the requested stack offers nothing.
func reason(hints *core.Info, refusals []core.Refusal) string {
	for _, r := range refusals {
		if r.Provider == hints.Fabric.ProvName && (r.EPType == hints.EP.Type || r.EPType == core.EPTypeUnspec) {
			return r.Reason
		}
	}
	return refusals[0].Reason
}

// honest returns a copy of info with the modes that Results has removed.
func (h *Hook) honest(info *core.Info) *core.Info {
	if info == nil {
		return nil
	}
	i := info.Dup()
	i.Mode |= h.Demands.Mode
	if i.Tx != nil {
		i.Tx.Mode |= h.Demands.Mode
	}
	if i.Rx != nil {
		i.Rx.Mode |= h.Demands.Mode
	}
	if i.Domain != nil {
		i.Domain.MRMode |= h.Demands.MRMode
	}
	if i.EP != nil && h.Demands.Mode&core.ModeMsgPrefix != 0 {
		i.EP.MsgPrefixSize = h.Demands.Prefix
	}
	return i
}

// Offer implements core.Hook.
func (h *Hook) Offer(offer, hints *core.Info) string { return h.Below.Offer(offer, hints) }

// Narrow implements core.Hook.
func (h *Hook) Narrow(info, hints *core.Info) { h.Below.Narrow(info, hints) }

// OpenFabric implements core.Hook.
func (h *Hook) OpenFabric(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	b, err := h.Below.OpenFabric(info, below)
	if err != nil {
		return nil, err
	}
	l := &list{open: map[*held]bool{}}
	return &fabric{hook.Fabric{FabricDriver: b}, l.hold(b), h}, nil
}

// beyond returns which limit of info a call exceeds, "" if none.
func (p *op) beyond(info *core.Info) string {
	iov, _ := p.buffers()
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	receives, iovs, ranges := p.Call.Receives(), info.Tx.IOVLimit, len(p.RMAIOV)+len(p.RMAIOC)
	if receives {
		iovs = info.Rx.IOVLimit
	}
	switch {
	case iovs > 0 && len(iov) > iovs:
		return fmt.Sprintf("%d buffers in one operation (iov_limit %d)", len(iov), iovs)
	case info.Tx.RMAIOVLimit > 0 && ranges > info.Tx.RMAIOVLimit:
		return fmt.Sprintf("%d remote ranges in one operation (rma_iov_limit %d)", ranges, info.Tx.RMAIOVLimit)
	case !receives && info.EP.MaxMsgSize > 0 && n > info.EP.MaxMsgSize:
		return fmt.Sprintf("transfers of %d bytes (max_msg_size %d)", n, info.EP.MaxMsgSize)
	case p.copied() && n > info.Tx.InjectSize:
		return fmt.Sprintf("injecting %d bytes (inject_size %d)", n, info.Tx.InjectSize)
	}
	if n := info.Domain.CQDataSize; p.HasData() && n < 8 && p.Data>>(8*n) != 0 {
		return fmt.Sprintf("remote CQ data %#x (cq_data_size %d)", p.Data, n)
	}
	f := info.EP.MemTagFormat
	if top := uint64(1)<<bits.Len64(f) - 1; p.Call.Tagged() && f != 0 &&
		(p.Tag > top || p.Ignore != ^uint64(0) && p.Ignore > top) {
		return fmt.Sprintf("a tag %#x, or ignored bits %#x (mem_tag_format %#x)", p.Tag, p.Ignore, f)
	}
	return ""
}
