package core

import (
	"fmt"
	"math/bits"
	"strings"
)

// flagName pairs a bit with the name of its constant in C.
type flagName struct {
	bit  uint64
	name string
}

// The lists have the order of fi_tostr(3). Native fi_tostr does not print the bits whose names follow a blank
// entry.
var capNames = []flagName{
	{uint64(CapMsg), "FI_MSG"}, {uint64(CapRMA), "FI_RMA"}, {uint64(CapTagged), "FI_TAGGED"}, {uint64(CapAtomic), "FI_ATOMIC"},
	{uint64(CapMulticast), "FI_MULTICAST"}, {uint64(CapCollective), "FI_COLLECTIVE"},
	{uint64(CapRead), "FI_READ"}, {uint64(CapWrite), "FI_WRITE"}, {uint64(CapRecv), "FI_RECV"}, {uint64(CapSend), "FI_SEND"},
	{uint64(CapRemoteRead), "FI_REMOTE_READ"}, {uint64(CapRemoteWrite), "FI_REMOTE_WRITE"},
	{uint64(CapMultiRecv), "FI_MULTI_RECV"}, {uint64(OpRemoteCQData), "FI_REMOTE_CQ_DATA"}, {uint64(CapTrigger), "FI_TRIGGER"}, {uint64(CapFence), "FI_FENCE"},
	{uint64(CapRMAPMem), "FI_RMA_PMEM"}, {uint64(CapSourceErr), "FI_SOURCE_ERR"}, {uint64(CapLocalComm), "FI_LOCAL_COMM"},
	{uint64(CapRemoteComm), "FI_REMOTE_COMM"}, {uint64(CapSharedAV), "FI_SHARED_AV"}, {uint64(CapRMAEvent), "FI_RMA_EVENT"},
	{uint64(CapSource), "FI_SOURCE"}, {uint64(CapNamedRxCtx), "FI_NAMED_RX_CTX"}, {uint64(CapDirectedRecv), "FI_DIRECTED_RECV"},
	{uint64(CapAVUserID), "FI_AV_USER_ID"}, {uint64(CapPeer), "FI_PEER"}, {uint64(CapHMem), "FI_HMEM"}, {uint64(CapXPU), "FI_XPU"},
	{},
	{uint64(CapTaggedDirectedRecv), "FI_TAGGED_DIRECTED_RECV"}, {uint64(CapTaggedMultiRecv), "FI_TAGGED_MULTI_RECV"},
	{uint64(CapExactDirectedRecv), "FI_EXACT_DIRECTED_RECV"}, {uint64(CapFirewallAddr), "FI_FIREWALL_ADDR"},
}

var opFlagNames = []flagName{
	{uint64(OpMulticast), "FI_MULTICAST"}, {uint64(OpMultiRecv), "FI_MULTI_RECV"}, {uint64(OpRemoteCQData), "FI_REMOTE_CQ_DATA"},
	{uint64(OpMore), "FI_MORE"}, {uint64(OpPeek), "FI_PEEK"}, {uint64(OpTrigger), "FI_TRIGGER"}, {uint64(OpFence), "FI_FENCE"},
	{uint64(OpCompletion), "FI_COMPLETION"}, {uint64(OpInject), "FI_INJECT"}, {uint64(OpInjectComplete), "FI_INJECT_COMPLETE"},
	{uint64(OpTransmitComplete), "FI_TRANSMIT_COMPLETE"}, {uint64(OpDeliveryComplete), "FI_DELIVERY_COMPLETE"},
	{uint64(OpMatchComplete), "FI_MATCH_COMPLETE"}, {uint64(OpAffinity), "FI_AFFINITY"}, {uint64(OpClaim), "FI_CLAIM"}, {uint64(OpDiscard), "FI_DISCARD"},
	{},
	{uint64(OpCommitComplete), "FI_COMMIT_COMPLETE"},
}

var compFlagNames = []flagName{
	{uint64(CompSend), "FI_SEND"}, {uint64(CompRecv), "FI_RECV"}, {uint64(CompRMA), "FI_RMA"}, {uint64(CompAtomic), "FI_ATOMIC"}, {uint64(CompMsg), "FI_MSG"},
	{uint64(CompTagged), "FI_TAGGED"}, {uint64(CompRead), "FI_READ"}, {uint64(CompWrite), "FI_WRITE"}, {uint64(CompRemoteRead), "FI_REMOTE_READ"},
	{uint64(CompRemoteWrite), "FI_REMOTE_WRITE"}, {uint64(CompRemoteCQData), "FI_REMOTE_CQ_DATA"}, {uint64(CompMultiRecv), "FI_MULTI_RECV"},
	{uint64(CompMore), "FI_MORE"}, {uint64(CompClaim), "FI_CLAIM"},
	{},
	{uint64(CompCollective), "FI_COLLECTIVE"},
}

var accessNames = []flagName{
	{uint64(AccessRecv), "FI_RECV"}, {uint64(AccessSend), "FI_SEND"}, {uint64(AccessRead), "FI_READ"}, {uint64(AccessWrite), "FI_WRITE"},
	{uint64(AccessRemoteRead), "FI_REMOTE_READ"}, {uint64(AccessRemoteWrite), "FI_REMOTE_WRITE"}, {uint64(AccessCollective), "FI_COLLECTIVE"},
}

var modeNames = []flagName{
	{uint64(ModeContext), "FI_CONTEXT"}, {uint64(ModeMsgPrefix), "FI_MSG_PREFIX"}, {uint64(ModeAsyncIOV), "FI_ASYNC_IOV"},
	{uint64(ModeRxCQData), "FI_RX_CQ_DATA"}, {uint64(modeLocalMR), "FI_LOCAL_MR"}, {uint64(ModeContext2), "FI_CONTEXT2"},
}

var orderNames = []flagName{
	{uint64(OrderRAR), "FI_ORDER_RAR"}, {uint64(OrderRAW), "FI_ORDER_RAW"}, {uint64(OrderRAS), "FI_ORDER_RAS"}, {uint64(OrderWAR), "FI_ORDER_WAR"},
	{uint64(OrderWAW), "FI_ORDER_WAW"}, {uint64(OrderWAS), "FI_ORDER_WAS"}, {uint64(OrderSAR), "FI_ORDER_SAR"}, {uint64(OrderSAW), "FI_ORDER_SAW"},
	{uint64(OrderSAS), "FI_ORDER_SAS"}, {uint64(OrderRMARAR), "FI_ORDER_RMA_RAR"}, {uint64(OrderRMARAW), "FI_ORDER_RMA_RAW"},
	{uint64(OrderRMAWAR), "FI_ORDER_RMA_WAR"}, {uint64(OrderRMAWAW), "FI_ORDER_RMA_WAW"}, {uint64(OrderAtomicRAR), "FI_ORDER_ATOMIC_RAR"},
	{uint64(OrderAtomicRAW), "FI_ORDER_ATOMIC_RAW"}, {uint64(OrderAtomicWAR), "FI_ORDER_ATOMIC_WAR"}, {uint64(OrderAtomicWAW), "FI_ORDER_ATOMIC_WAW"},
}

var mrModeNames = []flagName{
	{uint64(MRModeBasic), "FI_MR_BASIC"}, {uint64(MRModeScalable), "FI_MR_SCALABLE"}, {uint64(MRModeLocal), "FI_MR_LOCAL"},
	{uint64(MRModeRaw), "FI_MR_RAW"}, {uint64(MRModeVirtAddr), "FI_MR_VIRT_ADDR"}, {uint64(MRModeAllocated), "FI_MR_ALLOCATED"},
	{uint64(MRModeProvKey), "FI_MR_PROV_KEY"}, {uint64(MRModeMMUNotify), "FI_MR_MMU_NOTIFY"}, {uint64(MRModeRMAEvent), "FI_MR_RMA_EVENT"},
	{uint64(MRModeEndpoint), "FI_MR_ENDPOINT"}, {uint64(MRModeHMem), "FI_MR_HMEM"}, {uint64(MRModeCollect), "FI_MR_COLLECTIVE"},
	{uint64(MRModeXPUDesc), "FI_MR_XPU_DESC"},
}

// flagString joins the names of v's bits as fi_tostr(3) does. It leaves out bits without a name.
func flagString(names []flagName, v uint64) string {
	var b strings.Builder
	for _, n := range names {
		if n.bit == 0 || v&n.bit == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n.name)
	}
	return b.String()
}

// String names the capabilities: "FI_MSG, FI_RMA" (fi_tostr(3), FI_TYPE_CAPS).
func (c Caps) String() string { return flagString(capNames, uint64(c)) }

// String names the operation flags (fi_tostr(3), FI_TYPE_OP_FLAGS).
func (f OpFlags) String() string { return flagString(opFlagNames, uint64(f)) }

// String names the completion flags (fi_tostr(3), FI_TYPE_CQ_EVENT_FLAGS).
func (f CompFlags) String() string { return flagString(compFlagNames, uint64(f)) }

// String names the rights (fi_mr(3)).
func (a Access) String() string { return flagString(accessNames, uint64(a)) }

func (m Mode) String() string   { return flagString(modeNames, uint64(m)) }
func (o Order) String() string  { return flagString(orderNames, uint64(o)) }
func (m MRMode) String() string { return flagString(mrModeNames, uint64(m)) }

// parseFlags reads names joined by '|' or ',', in any case, with or without the prefix "FI_".
func parseFlags(what, s string, names []flagName) (uint64, error) {
	var v uint64
	for _, tok := range strings.FieldsFunc(s, func(r rune) bool { return r == '|' || r == ',' || r == ' ' }) {
		bit, err := lookupName(what, tok, names)
		if err != nil {
			return 0, err
		}
		v |= bit
	}
	return v, nil
}

func lookupName(what, tok string, names []flagName) (uint64, error) {
	var all []string
	for _, n := range names {
		if n.name == "" {
			continue
		}
		if strings.EqualFold(tok, n.name) || strings.EqualFold("FI_"+tok, n.name) {
			return n.bit, nil
		}
		all = append(all, n.name)
	}
	return 0, fmt.Errorf("unrecognized %s %q; known: %s: %w", what, tok, strings.Join(all, " "), ErrInval)
}

// ParseCaps reads capabilities as fi_info -c takes them: FI_MSG|FI_RMA.
func ParseCaps(s string) (Caps, error) {
	// fi_info takes these two operation flags as well.
	extra := []flagName{{uint64(OpMore), "FI_MORE"}, {uint64(OpPeek), "FI_PEEK"}}
	v, err := parseFlags("capability", s, append(extra, capNames...))
	return Caps(v), err
}

// ParseModes reads mode bits as fi_info -m takes them: FI_CONTEXT|FI_RX_CQ_DATA.
func ParseModes(s string) (Mode, error) {
	v, err := parseFlags("mode", s, modeNames)
	return Mode(v), err
}

// msb returns the position of the highest set bit, counted from 1; 0 if none is set.
func msb(v uint64) int { return bits.Len64(v) }
