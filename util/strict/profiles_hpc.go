package strict

import (
	"math"

	"gofabric/core"
)

// This file has the providers of HPC fabrics: HPE Slingshot (fi_cxi(7)), Intel's PSM3 (fi_psm3(7)), Cornelis
// Omni-Path (fi_opx(7)).

// cxi is HPE Slingshot.
var cxi = Profile{Name: "cxi", Kinds: []Kind{{
	Type: core.EPTypeRDM,
	Caps: comm | msgCaps | rmaCaps | core.CapTagged | core.CapAtomic | core.CapCollective | core.CapDirectedRecv | core.CapNamedRxCtx | core.CapSource |
		core.CapSourceErr | core.CapRMAEvent | core.CapMultiRecv | core.CapFence | core.CapTrigger | core.CapAVUserID | core.CapPeer,
	MRMode: core.MRModeEndpoint | core.MRModeAllocated, Choice: core.MRModeProvKey,
	Inject: 192, MaxMsg: min(1<<32-1, math.MaxInt), TxSize: 1024, RxSize: 1024, TxIOV: 1, RxIOV: 1, RMAIOV: 1,
	TxOrder:  core.OrderSAS | core.OrderWAW | core.OrderRMAWAW | core.OrderRMARAR | atomicOrder,
	OrderRAW: none, OrderWAR: none, TagBits: 48, CQDataSize: 8, KeySize: 4, CQSize: 131072, CQCnt: 32, EPCnt: 128, CntrCnt: 16, MRCnt: 100,
	Threading: core.ThreadSafe, Manual: true,
	WhyKey: "the target's list of remote keys has no such entry: the access fails with an unlinked or permission event",
}}}

// psm3 is Intel Ethernet and Omni-Path through PSM3.
var psm3 = Profile{Name: "psm3", Kinds: []Kind{psm3Kind(core.EPTypeRDM), psm3Kind(core.EPTypeDgram)}}

func psm3Kind(t core.EPType) Kind {
	return Kind{
		Type: t,
		Caps: comm | msgCaps | rmaCaps | core.CapTagged | core.CapAtomic | core.CapNamedRxCtx | core.CapTrigger | core.CapSource | core.CapSourceErr |
			core.CapRMAEvent | core.CapDirectedRecv | core.CapMultiRecv | core.CapSharedAV,
		Mode: core.ModeContext, Legacy: core.MRModeScalable | core.MRModeBasic,
		Inject: 64, MaxMsg: min(1<<32-1, math.MaxInt) &^ 0xfff, TxIOV: 13, RxIOV: 1, RMAIOV: 1, TxOrder: core.OrderSAS | rarSet | rawSet | warSet | wawSet,
		OrderRAW: 4096, OrderWAR: 4096, OrderWAW: 4096, TagBits: 60, CQDataSize: 4, KeySize: 8, MaxErrData: 64, Threading: core.ThreadSafe,
		WhyContext: "PSM keeps its request there, and the list that it stands in", WhyKey: "the target refuses the access",
	}
}

// opx is Cornelis Omni-Path.
var opx = Profile{Name: "opx", Kinds: []Kind{{
	Type: core.EPTypeRDM,
	Caps: comm | msgCaps | rmaCaps | core.CapTagged | core.CapAtomic | core.CapSource | core.CapDirectedRecv | core.CapMultiRecv,
	Mode: core.ModeAsyncIOV | core.ModeContext2, Legacy: core.MRModeScalable,
	Inject: 16, TxIOV: 1, RxIOV: 1, RMAIOV: 1, TxOrder: atomicOrder, OrderRAW: none, OrderWAR: none, OrderWAW: none,
	TagBits: 64, CQDataSize: 4, KeySize: 2, EPCnt: 160, CntrCnt: none, Threading: core.ThreadDomain, Manual: true,
	WhyContext: "the provider keeps the state of the operation there", WhyKey: "the target refuses the access",
}}}

// all is not a provider: it has the demands of all of them, and the limits of the stack below.
var all = Profile{Name: "all", Kinds: []Kind{
	allKind(core.EPTypeMsg, 0), allKind(core.EPTypeRDM, 0), allKind(core.EPTypeDgram, 64),
}}

func allKind(t core.EPType, prefix int) Kind {
	k := Kind{
		Type: t, Caps: ^core.Caps(0), Mode: core.ModeContext2 | core.ModeAsyncIOV,
		MRMode: basicMap | core.MRModeLocal | core.MRModeEndpoint, TxOrder: ^core.Order(0), KeySize: 8, Prefix: prefix,
		Threading: core.ThreadSafe, Manual: true,
		WhyLocal: "the adapter finds memory by the key in the descriptor: a local protection fault", WhyKey: "a remote access error",
		WhyContext: "the provider keeps the state of the operation there",
	}
	if prefix > 0 {
		k.Mode |= core.ModeMsgPrefix
	}
	return k
}

// loose is not a provider either: it demands nothing, and uses every freedom that the man pages leave to providers.
var loose = Profile{Name: "loose", Kinds: []Kind{
	looseKind(core.EPTypeMsg), looseKind(core.EPTypeRDM), looseKind(core.EPTypeDgram),
}}

func looseKind(t core.EPType) Kind {
	return Kind{Type: t, Caps: ^core.Caps(0), TxOrder: ^core.Order(0), Legacy: core.MRModeBasic | core.MRModeScalable, Choice: ^core.MRMode(0) &^ (core.MRModeBasic | core.MRModeScalable)}
}
