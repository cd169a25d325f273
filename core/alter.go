package core

import (
	"cmp"
	"math"
	"strconv"
)

func uitoa(v uint64) string { return strconv.FormatUint(v, 10) }

// alterInfo narrows a provider's Info in place to what checked hints asked for (ofi_alter_info in native's
// prov/util/src/util_attr.c). With nil hints most of it stays as it is.
func alterInfo(v Version, info, hints *Info) {
	info.Caps = alterInfoCaps(v, info, hints) // before mr_mode changes: the capabilities depend on it
	if info.Domain.MRMode&MRModeLocal != 0 &&
		(v.Before(1, 5) || (hints != nil && hints.Domain != nil && hints.Domain.MRMode&mrOldModes != 0)) {
		info.Mode |= modeLocalMR
	}
	if hints == nil {
		hints = &Info{Handle: info.Handle}
	}
	info.Handle = hints.Handle
	alterDomain(v, info.Domain, hints.Domain, info.Caps)
	alterEP(info.EP, hints.EP, info.Caps)
	if inVectors(v, hints.Domain) {
		info.EP.AuthKeySize = 0 // fi_endpoint(3), auth_key_size: 0 if the keys come from vectors
	}
	alterRx(info.Rx, hints.Rx, info.Caps)
	alterTx(info.Tx, hints.Tx, info.Caps)
	setIf(&info.Domain.TClass, domainClass(hints))
	if info.Tx.TClass == TCUnspec { // the domain's class is the default of its endpoints (fi_domain(3), "tclass")
		info.Tx.TClass = info.Domain.TClass
	}
}

// domainClass returns the traffic class that hints ask of the domain.
func domainClass(hints *Info) TrafficClass {
	if hints.Domain == nil {
		return TCUnspec
	}
	return hints.Domain.TClass
}

func alterDomain(v Version, a, hints *DomainAttr, caps Caps) {
	a.MRMode = alterMRMode(v, a.MRMode, caps, hints)
	if hints == nil {
		a.Caps = alterCaps(caps, 0, a.Caps)
	} else {
		a.Caps = alterCaps(caps, hints.Caps, a.Caps)
	}
	a.MaxCntrValue = cmp.Or(a.MaxCntrValue, math.MaxUint64)
	a.MaxErrCntrValue = cmp.Or(a.MaxErrCntrValue, math.MaxUint64)
	if hints == nil {
		return
	}
	setIf(&a.Threading, threading(v, hints.Threading))
	if hints.DataProgress != ProgressUnspec {
		a.DataProgress, a.ControlProgress = hints.DataProgress, hints.DataProgress
	}
	if v.Before(2, 0) {
		setIf(&a.ControlProgress, hints.ControlProgress)
	}
	setIf(&a.AVType, hints.AVType)
	setIf(&a.MaxEPAuthKey, hints.MaxEPAuthKey)
	if inVectors(v, hints) {
		a.AuthKeySize = AVAuthKey
	}
	if len(hints.AuthKey) > 0 {
		a.AuthKey = append([]byte(nil), hints.AuthKey...)
	}
}

func alterEP(a, hints *EPAttr, caps Caps) {
	if hints == nil {
		return
	}
	if caps&(CapRMA|CapAtomic) != 0 {
		setIf(&a.MaxOrderRAWSize, hints.MaxOrderRAWSize)
		setIf(&a.MaxOrderWARSize, hints.MaxOrderWARSize)
		setIf(&a.MaxOrderWAWSize, hints.MaxOrderWAWSize)
	}
	setIf(&a.TxCtxCnt, hints.TxCtxCnt)
	setIf(&a.RxCtxCnt, hints.RxCtxCnt)
	if len(hints.AuthKey) > 0 {
		a.AuthKey = append([]byte(nil), hints.AuthKey...)
	}
}

func alterRx(a, hints *RxAttr, caps Caps) {
	if hints == nil {
		a.Caps = alterCaps(caps, 0, a.Caps)
		return
	}
	a.Caps = alterCaps(caps, hints.Caps, a.Caps)
	a.OpFlags = hints.OpFlags
	setIf(&a.Size, hints.Size)
	setIf(&a.IOVLimit, hints.IOVLimit)
}

func alterTx(a, hints *TxAttr, caps Caps) {
	if hints == nil {
		a.Caps = alterCaps(caps, 0, a.Caps)
		return
	}
	a.Caps = alterCaps(caps, hints.Caps, a.Caps)
	a.OpFlags = hints.OpFlags
	setIf(&a.InjectSize, hints.InjectSize)
	setIf(&a.Size, hints.Size)
	setIf(&a.IOVLimit, hints.IOVLimit)
	setIf(&a.RMAIOVLimit, hints.RMAIOVLimit)
	setIf(&a.TClass, hints.TClass)
}

// setIf sets *dst to v unless v is zero.
func setIf[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}
