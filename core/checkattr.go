package core

import (
	"cmp"
	"slices"
)

// This file checks domain and endpoint attributes; see check.go.

// rank returns the position of v in order, which lists values by how much they demand of a provider. A caller's
// rank must not be below the provider's. A value that is not in the list fits none.
func rank[T comparable](v T, order []T) int {
	if i := slices.Index(order, v); i >= 0 {
		return i + 1
	}
	return -1
}

var (
	// From most to least parallel. The retired models rank as unknown, as in native 2.x.
	threadRank = []Threading{ThreadSafe, ThreadCompletion, ThreadDomain, ThreadUnspec}
	// From most to least automatic.
	progressRank = []Progress{ProgressAuto, ProgressManual, ProgressControlUnified, ProgressUnspec}
	rmRank       = []ResourceMgmt{RMEnabled, RMDisabled, RMUnspec}
)

// threading replaces the models that API version 2 retired by those that are valid for their users.
func threading(v Version, t Threading) Threading {
	if v.Before(2, 0) {
		switch t {
		case ThreadFID:
			return ThreadSafe
		case ThreadEndpoint:
			return ThreadCompletion
		}
	}
	return t
}

func checkDomain(v Version, prov *DomainAttr, user *Info) string {
	d := user.Domain
	switch {
	case rank(threading(v, d.Threading), threadRank) < rank(prov.Threading, threadRank):
		return differ("threading", d.Threading.String(), prov.Threading.String())
	case rank(d.DataProgress, progressRank) < rank(prov.DataProgress, progressRank):
		return differ("progress", d.DataProgress.String(), prov.DataProgress.String())
	case v.Before(2, 0) && rank(d.ControlProgress, progressRank) < rank(prov.ControlProgress, progressRank):
		return differ("control_progress", d.ControlProgress.String(), prov.ControlProgress.String())
	case rank(d.ResourceMgmt, rmRank) < rank(prov.ResourceMgmt, rmRank):
		return differ("resource_mgmt", d.ResourceMgmt.String(), prov.ResourceMgmt.String())
	case prov.AVType != AVUnspec && d.AVType != AVUnspec && prov.AVType != d.AVType:
		return differ("av_type", d.AVType.String(), prov.AVType.String())
	}
	reason := cmp.Or(tooLarge("cq_data_size", d.CQDataSize, prov.CQDataSize), checkMRMode(v, prov.MRMode, user))
	if reason != "" || v.Before(1, 5) {
		return reason
	}
	reason = cmp.Or(
		tooLarge("cntr_cnt", d.CntrCnt, prov.CntrCnt),
		tooLarge("mr_iov_limit", d.MRIOVLimit, prov.MRIOVLimit),
		beyondCaps("domain_attr.caps", d.Caps, prov.Caps),
		unmetMode("domain_attr.mode", d.Mode, prov.Mode),
		tooLarge("max_err_data", d.MaxErrData, prov.MaxErrData),
		tooLarge("mr_cnt", d.MRCnt, prov.MRCnt),
		checkDomainKey(v, d, prov))
	if reason == "" && !v.Before(1, 20) {
		reason = tooLarge("max_ep_auth_key", d.MaxEPAuthKey, prov.MaxEPAuthKey)
	}
	if reason != "" || v.Before(2, 5) {
		return reason
	}
	// A provider that says 0 has no limit.
	return cmp.Or(
		tooLarge64("max_cntr_value", d.MaxCntrValue, prov.MaxCntrValue),
		tooLarge64("max_err_cntr_value", d.MaxErrCntrValue, prov.MaxErrCntrValue))
}

func tooLarge64(field string, asked, offered uint64) string {
	if offered == 0 || asked <= offered {
		return ""
	}
	return differ(field, uitoa(asked), "at most "+uitoa(offered))
}

// checkDomainKey checks the keys that the caller wants for domains and their vectors (fi_domain(3), auth_key).
func checkDomainKey(v Version, user, prov *DomainAttr) string {
	const field = "domain_attr.auth_key_size"
	if !inVectors(v, user) {
		return checkAuthKey(field, user.AuthKey, user.AuthKeySize, prov.AuthKeySize)
	}
	switch {
	case len(user.AuthKey) > 0:
		return "domain_attr.auth_key: must be nil with FI_AV_AUTH_KEY"
	case prov.MaxEPAuthKey == 0: // native checks nothing here: the first insertion of a key fails
		return field + ": asked for FI_AV_AUTH_KEY, which is not offered"
	}
	return ""
}

// inVectors reports whether keys come from address vectors (API version 1.20 and later).
func inVectors(v Version, d *DomainAttr) bool {
	return d != nil && d.AuthKeySize == AVAuthKey && !v.Before(1, 20)
}

// checkAuthKey checks that the provider can use a key of this length: 0 without authentication. Native demands an
// equal length, because its keys are structures of particular hardware.
func checkAuthKey(field string, key []byte, asked, offered int) string {
	return tooLarge(field, max(len(key), asked), offered)
}

func checkEPType(prov, user *EPAttr) string {
	if user.Type != EPTypeUnspec && prov.Type != EPTypeUnspec && user.Type != prov.Type {
		return differ("ep_attr.type", user.Type.String(), prov.Type.String())
	}
	// Shared contexts count as another kind of endpoint. A caller that did not ask for them gets this reason last.
	return cmp.Or(unaskedShared("tx_ctx_cnt", user.TxCtxCnt, prov.TxCtxCnt), unaskedShared("rx_ctx_cnt", user.RxCtxCnt, prov.RxCtxCnt))
}

func unaskedShared(field string, user, prov int) string {
	if user == 0 && prov == SharedContext {
		return field + ": this offer is for FI_SHARED_CONTEXT, which was not asked for"
	}
	return ""
}

func checkEP(provInfo, user *Info) string {
	prov, ep := provInfo.EP, user.EP
	switch {
	case ep.Protocol != ProtoUnspec && ep.Protocol != prov.Protocol:
		return differ("protocol", ep.Protocol.String(), prov.Protocol.String())
	case ep.ProtocolVersion > prov.ProtocolVersion:
		return differ("protocol_version", uitoa(uint64(ep.ProtocolVersion)), uitoa(uint64(prov.ProtocolVersion)))
	}
	d := provInfo.Domain
	reason := cmp.Or(
		tooLarge("max_msg_size", ep.MaxMsgSize, prov.MaxMsgSize),
		checkCtxCnt("tx_ctx_cnt", ep.TxCtxCnt, d.MaxEPTxCtx, d.MaxEPStxCtx),
		checkCtxCnt("rx_ctx_cnt", ep.RxCtxCnt, d.MaxEPRxCtx, d.MaxEPSrxCtx))
	if reason == "" && user.Caps&(CapRMA|CapAtomic) != 0 {
		reason = cmp.Or(
			tooLarge("max_order_raw_size", ep.MaxOrderRAWSize, prov.MaxOrderRAWSize),
			tooLarge("max_order_war_size", ep.MaxOrderWARSize, prov.MaxOrderWARSize),
			tooLarge("max_order_waw_size", ep.MaxOrderWAWSize, prov.MaxOrderWAWSize))
	}
	if reason = cmp.Or(reason, checkEPKey(ep, prov, user.Domain)); reason != "" {
		return reason
	}
	if user.Caps&CapTagged != 0 && ep.MemTagFormat != 0 && msb(ep.MemTagFormat) > msb(prov.MemTagFormat) {
		return differ("mem_tag_format", uitoa(uint64(msb(ep.MemTagFormat)))+" bits of tag", uitoa(uint64(msb(prov.MemTagFormat))))
	}
	return ""
}

// checkEPKey checks the key that the caller wants for an endpoint.
func checkEPKey(ep, prov *EPAttr, d *DomainAttr) string {
	if d != nil && d.AuthKeySize == AVAuthKey && (len(ep.AuthKey) > 0 || ep.AuthKeySize > 0) {
		return "ep_attr.auth_key: must be nil, of size 0, with FI_AV_AUTH_KEY"
	}
	return checkAuthKey("ep_attr.auth_key_size", ep.AuthKey, ep.AuthKeySize, prov.AuthKeySize)
}

// checkCtxCnt compares numbers of contexts per endpoint. FI_SHARED_CONTEXT stands for shared ones.
func checkCtxCnt(field string, user, limit, shared int) string {
	switch {
	case user == SharedContext && shared == 0:
		return field + ": asked for FI_SHARED_CONTEXT, which is not offered"
	case user == SharedContext:
		return ""
	}
	return tooLarge(field, user, limit)
}
