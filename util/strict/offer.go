package strict

import (
	"fmt"

	"gofabric/core"
)

// This file narrows the offers of a stack in GetInfo to the profile.

// Offer implements core.Hook.
func (h *Hook) Offer(i, hints *core.Info) string {
	k := h.profile.kind(i.EP.Type)
	if k == nil {
		return fmt.Sprintf("FI_STRICT=%s: that provider has no %s endpoints", h.profile.Name, i.EP.Type)
	}
	if i.EP.RxCtxCnt == core.SharedContext && i.EP.Type != core.EPTypeMsg {
		return fmt.Sprintf("FI_STRICT=%s: that provider has no shared receive contexts for %s endpoints", h.profile.Name, i.EP.Type)
	}
	i.Caps &= k.Caps
	i.Tx.Caps &= k.Caps
	i.Rx.Caps &= k.Caps
	i.Domain.Caps &= k.Caps
	k.modes(i, hints)
	limit(&i.Tx.InjectSize, k.Inject)
	limit(&i.Tx.Size, k.TxSize)
	limit(&i.Rx.Size, k.RxSize)
	limit(&i.Tx.IOVLimit, k.TxIOV)
	limit(&i.Rx.IOVLimit, k.RxIOV)
	limit(&i.Tx.RMAIOVLimit, k.RMAIOV)
	i.Tx.MsgOrder &= k.TxOrder
	i.Rx.MsgOrder &= k.TxOrder
	limit(&i.EP.MaxMsgSize, k.MaxMsg)
	limit(&i.EP.MaxOrderRAWSize, k.OrderRAW)
	limit(&i.EP.MaxOrderWARSize, k.OrderWAR)
	limit(&i.EP.MaxOrderWAWSize, k.OrderWAW)
	if k.TagBits > 0 && k.TagBits < 64 && i.EP.MemTagFormat != 0 {
		i.EP.MemTagFormat = core.TagGeneric >> (64 - k.TagBits)
	}
	k.domain(i.Domain, hints)
	// None of the providers has scalable endpoints, nor shared receive contexts without connections.
	i.Caps &^= core.CapNamedRxCtx
	i.Tx.Caps &^= core.CapNamedRxCtx
	i.Domain.MaxEPTxCtx, i.Domain.MaxEPRxCtx = min(i.Domain.MaxEPTxCtx, 1), min(i.Domain.MaxEPRxCtx, 1)
	if i.EP.Type != core.EPTypeMsg {
		i.Domain.MaxEPSrxCtx = 0
	}
	return ""
}

// modes sets the demands on the application.
func (k *Kind) modes(i, hints *core.Info) {
	mode := k.Mode
	if wantsCQData(hints) && i.Domain.CQDataSize > 0 {
		mode |= k.CQData
	}
	i.Mode, i.Tx.Mode, i.Rx.Mode = mode, mode&^core.ModeRxCQData, mode
	if k.Prefix > 0 && mode&core.ModeMsgPrefix != 0 {
		i.EP.MsgPrefixSize = k.Prefix
	}
}

// wantsCQData reports whether hints show that the caller uses remote CQ data (fi_verbs(7)).
func wantsCQData(h *core.Info) bool {
	if h == nil {
		return false
	}
	return h.Mode&core.ModeRxCQData != 0 || h.Rx != nil && h.Rx.Mode&core.ModeRxCQData != 0 || h.Domain != nil && h.Domain.CQDataSize > 0
}

func (k *Kind) domain(d *core.DomainAttr, hints *core.Info) {
	d.MRMode = k.MRMode | k.Legacy
	if hints != nil && hints.Domain != nil {
		d.MRMode |= hints.Domain.MRMode & k.Choice
	}
	if d.CQDataSize > 0 {
		limit(&d.CQDataSize, k.CQDataSize)
	}
	if k.KeySize > 0 && d.MRMode&k.Choice&core.MRModeProvKey == 0 {
		d.MRKeySize = k.KeySize
	}
	if k.MaxErrData > 0 {
		d.MaxErrData = k.MaxErrData
	}
	limit(&d.CQCnt, k.CQCnt)
	limit(&d.EPCnt, k.EPCnt)
	if k.CntrCnt > 0 || k.CntrCnt == none {
		d.CntrCnt = max(k.CntrCnt, 0)
	}
	if k.MRCnt > 0 {
		d.MRCnt = k.MRCnt
	}
	if k.Threading != core.ThreadUnspec {
		d.Threading = k.Threading
	}
	if k.Manual {
		d.ControlProgress, d.DataProgress = core.ProgressManual, core.ProgressManual
	}
	if k.RMDisabled {
		d.ResourceMgmt = core.RMDisabled
	}
}

// limit lowers *v to a limit. A limit of 0 changes nothing. The limit none makes *v 0.
func limit(v *int, max int) {
	switch {
	case max == none:
		*v = 0
	case max > 0 && *v > max:
		*v = max
	}
}

// Narrow implements core.Hook: it removes ordering that was not asked for, limits queues to the profile's size, and
// sets its type of address vectors.
func (h *Hook) Narrow(i, hints *core.Info) {
	k := h.profile.kind(i.EP.Type)
	if k == nil {
		return
	}
	limit(&i.Tx.Size, k.TxSize)
	limit(&i.Rx.Size, k.RxSize)
	limit(&i.Tx.InjectSize, k.Inject)
	if k.AVType != core.AVUnspec {
		i.Domain.AVType = k.AVType
	}
	if hints != nil && hints.Tx != nil {
		i.Tx.MsgOrder &= hints.Tx.MsgOrder
	}
	if hints != nil && hints.Rx != nil {
		i.Rx.MsgOrder &= hints.Rx.MsgOrder
	}
}
