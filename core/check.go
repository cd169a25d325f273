package core

import (
	"cmp"
	"fmt"
	"strings"
)

// This file compares hints with the offer of a provider, in the order of ofi_check_info (native's
// prov/util/src/util_attr.c). Each check returns "" or the reason for a refusal, with the field, what was asked for
// and what is offered.

// The stage of a check says how far a candidate came before it was refused. The error of GetInfo reports the
// refusal with the highest stage.
const (
	stageName = iota
	stageEPType
	stageCaps
	stageMode
	stageFormat
	stageFabric
	stageDomain
	stageEP
	stageRx
	stageTx
	stageAddr
	stageFilter
)

func brackets(s string) string {
	if s == "" {
		return "nothing"
	}
	return "[" + s + "]"
}

func differ(field, asked, offered string) string {
	return field + ": asked for " + asked + ", offered " + offered
}

func tooLarge(field string, asked, offered int) string {
	if asked <= offered {
		return ""
	}
	return differ(field, sizeText(asked), "at most "+sizeText(offered))
}

func sizeText(v int) string {
	if v == MaxSize {
		return "SIZE_MAX"
	}
	return fmt.Sprint(v)
}

// beyondCaps refuses capabilities that the provider does not offer.
func beyondCaps(field string, asked, offered Caps) string {
	if more := asked &^ offered; more != 0 {
		names := more.String()
		if names == "" {
			names = fmt.Sprintf("0x%x", uint64(more))
		}
		return field + ": asked for " + brackets(names) + ", which is not offered; offered are " + brackets(offered.String())
	}
	return ""
}

func beyondOrder(field string, asked, offered Order) string {
	if more := asked &^ offered; more != 0 {
		return field + ": asked for " + brackets(more.String()) + ", which is not offered; offered are " + brackets(offered.String())
	}
	return ""
}

func beyondOpFlags(field string, asked, offered OpFlags) string {
	if more := asked &^ offered; more != 0 {
		return field + ": asked for " + brackets(more.String()) + ", which is not offered; offered are " + brackets(offered.String())
	}
	return ""
}

func unmetMode(field string, accepted, required Mode) string {
	if more := required &^ accepted; more != 0 {
		reason := field + ": " + brackets(more.String()) + " is required of the caller, which accepts " + brackets(accepted.String())
		if more&modeLocalMR != 0 {
			reason += "; since API version 1.5 that is mr_mode FI_MR_LOCAL"
		}
		return reason
	}
	return ""
}

// checkInfo compares hints with one Info of a provider of version provVersion. nil hints accept any Info.
func checkInfo(v, provVersion Version, prov, user *Info) (stage int, reason string) {
	if user == nil {
		return 0, ""
	}
	if user.EP != nil {
		if reason = checkEPType(prov.EP, user.EP); reason != "" {
			return stageEPType, reason
		}
	}
	if reason = beyondCaps("caps", user.Caps, prov.Caps); reason != "" {
		return stageCaps, reason
	}
	if reason = unmetMode("mode", user.Mode, neededMode(v, prov, user)); reason != "" {
		return stageMode, reason
	}
	if !validFormat(prov.AddrFormat, user.AddrFormat) {
		return stageFormat, differ("addr_format", user.AddrFormat.String(), prov.AddrFormat.String())
	}
	if user.Fabric != nil && prov.Fabric != nil {
		if reason = checkFabric(provVersion, prov.Fabric, user.Fabric); reason != "" {
			return stageFabric, reason
		}
	}
	if user.Domain != nil {
		if reason = checkDomain(v, prov.Domain, user); reason != "" {
			return stageDomain, reason
		}
	}
	if user.EP != nil {
		if reason = checkEP(prov, user); reason != "" {
			return stageEP, reason
		}
	}
	if user.Rx != nil {
		if reason = checkRx(prov.Rx, user.Rx, user.Mode); reason != "" {
			return stageRx, reason
		}
	}
	if user.Tx != nil {
		if reason = checkTx(prov.Tx, user.Tx, user.Mode); reason != "" {
			return stageTx, reason
		}
	}
	return 0, ""
}

func checkFabric(version Version, prov, user *FabricAttr) string {
	if user.ProvVersion > version {
		return differ("prov_version", user.ProvVersion.String(), version.String())
	}
	if user.APIVersion < prov.APIVersion {
		return differ("api_version", user.APIVersion.String(), prov.APIVersion.String()+" or later")
	}
	return ""
}

func checkRx(prov, user *RxAttr, mode Mode) string {
	if user.Mode != 0 {
		mode = user.Mode
	}
	reason := cmp.Or(
		beyondCaps("rx_attr.caps", user.Caps&^ignoredRxCaps, prov.Caps),
		unmetMode("rx_attr.mode", mode, prov.Mode),
		beyondOpFlags("rx_attr.op_flags", user.OpFlags, prov.OpFlags),
		beyondOrder("rx_attr.msg_order", user.MsgOrder, prov.MsgOrder))
	if reason == "" && user.CompOrder != 0 {
		reason = "rx_attr.comp_order: must be 0 since libfabric 2.0"
	}
	return cmp.Or(reason,
		tooLarge("rx_attr.total_buffered_recv", user.TotalBufferedRecv, 0),
		tooLarge("rx_attr.size", user.Size, prov.Size),
		tooLarge("rx_attr.iov_limit", user.IOVLimit, prov.IOVLimit))
}

func checkTx(prov, user *TxAttr, mode Mode) string {
	if user.Mode != 0 {
		mode = user.Mode
	}
	reason := cmp.Or(
		beyondCaps("tx_attr.caps", user.Caps&^ignoredTxCaps, prov.Caps),
		unmetMode("tx_attr.mode", mode, prov.Mode),
		beyondOpFlags("tx_attr.op_flags", user.OpFlags, prov.OpFlags),
		beyondOrder("tx_attr.msg_order", user.MsgOrder, prov.MsgOrder))
	if reason == "" && user.CompOrder != 0 {
		reason = "tx_attr.comp_order: must be 0 since libfabric 2.0"
	}
	return cmp.Or(reason,
		tooLarge("tx_attr.inject_size", user.InjectSize, prov.InjectSize),
		tooLarge("tx_attr.size", user.Size, prov.Size),
		tooLarge("tx_attr.iov_limit", user.IOVLimit, prov.IOVLimit),
		tooLarge("tx_attr.rma_iov_limit", user.RMAIOVLimit, prov.RMAIOVLimit))
}

// validFormat reports whether a caller that asks for a format can use a provider of another: FI_SOCKADDR includes
// every IP address, for example.
func validFormat(prov, user AddrFormat) bool {
	if user == FormatUnspec || prov == FormatUnspec || user == prov {
		return true
	}
	switch prov {
	case FormatSockaddr, FormatSockaddrIP:
		return user == FormatSockaddr || user == FormatSockaddrIP || user == FormatSockaddrIn || user == FormatSockaddrIn6 ||
			(prov == FormatSockaddr && user == FormatSockaddrIB)
	case FormatSockaddrIn, FormatSockaddrIn6:
		return user == FormatSockaddr || user == FormatSockaddrIP
	case FormatSockaddrIB:
		return user == FormatSockaddr
	}
	return false
}

// matchFormat reports whether a caller that asks for a format can use an address of a concrete format.
func matchFormat(have, asked AddrFormat) bool {
	switch asked {
	case FormatUnspec, have:
		return true
	case FormatSockaddr:
		return have == FormatSockaddrIn || have == FormatSockaddrIn6 || have == FormatSockaddrIP || have == FormatSockaddrIB
	case FormatSockaddrIP:
		return have == FormatSockaddrIn || have == FormatSockaddrIn6 || have == FormatSockaddr
	}
	return have == FormatUnspec
}

// sameName compares names of providers, fabrics and domains. libfabric ignores case in them.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }
