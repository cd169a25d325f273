package strict

import "gofabric/core"

// This file has the providers over the verbs interface: InfiniBand and RoCE (fi_verbs(7)), and Amazon's EFA
// (fi_efa(7)).

// verbs is InfiniBand, RoCE and iWARP. Its RDM endpoints are those of ofi_rxm over it.
var verbs = Profile{Name: "verbs", Kinds: []Kind{
	{
		Type: core.EPTypeMsg, Caps: comm | msgCaps | rmaCaps | core.CapAtomic, CQData: core.ModeRxCQData,
		MRMode: basicMap | core.MRModeLocal, Legacy: core.MRModeBasic,
		Inject: 256, MaxMsg: 1 << 30, TxSize: 384, RxSize: 384, TxIOV: 4, RxIOV: 4, RMAIOV: 1, TxOrder: verbsOrder,
		OrderRAW: 1 << 30, OrderWAR: none, OrderWAW: 1 << 30, CQDataSize: 4, KeySize: 4, MaxErrData: 255, CQSize: 1024, CntrCnt: none,
		Threading: core.ThreadSafe, WaitObjs: []core.WaitObj{core.WaitNone, core.WaitUnspec, core.WaitFD},
		Lacks:        LacksCancel | LacksAlias | LacksReadFrom | LacksMRCounters,
		WhyLocal:     "the adapter takes the lkey of the work request from the descriptor: IBV_WC_LOC_PROT_ERR, and the queue pair goes into the error state",
		WhyKey:       "IBV_WC_REM_ACCESS_ERR, and the queue pair goes into the error state",
		ConsumesRecv: true,
	},
	{
		Type: core.EPTypeRDM, Caps: comm | msgCaps | rmaCaps | core.CapAtomic | core.CapTagged | core.CapSource | core.CapDirectedRecv | core.CapMultiRecv,
		MRMode: basicMap, Legacy: core.MRModeBasic, Choice: core.MRModeLocal,
		Inject: 16384, TxSize: 16384, RxSize: 65536, TxIOV: 4, RxIOV: 4, RMAIOV: 1, TxOrder: verbsOrder,
		OrderRAW: none, OrderWAR: none, OrderWAW: none, CQDataSize: 8, KeySize: 4, Threading: core.ThreadSafe, Manual: true,
		WhyLocal: "ofi_rxm passes the descriptor to verbs for large messages: IBV_WC_LOC_PROT_ERR, and the connection is lost",
		WhyKey:   "IBV_WC_REM_ACCESS_ERR, and the connection is lost",
	},
	{
		Type: core.EPTypeDgram, Caps: comm | msgCaps, Mode: core.ModeMsgPrefix, CQData: core.ModeRxCQData,
		MRMode: basicMap | core.MRModeLocal, Legacy: core.MRModeBasic,
		Prefix: 40, Inject: 256, MaxMsg: 4096, TxSize: 384, RxSize: 384, TxIOV: 4, RxIOV: 4, RMAIOV: 1, CQDataSize: 4, KeySize: 4, CQSize: 1024, CntrCnt: none,
		Threading: core.ThreadSafe, WaitObjs: []core.WaitObj{core.WaitNone, core.WaitUnspec},
		Lacks:    LacksCancel | LacksAlias | LacksMRCounters,
		WhyLocal: "the adapter takes the lkey of the work request from the descriptor: IBV_WC_LOC_PROT_ERR, and the queue pair goes into the error state",
	},
}}

// verbsOrder is the order that one connected queue pair keeps.
const verbsOrder = rarSet | rawSet | core.OrderRAS | wawSet | core.OrderWAS | core.OrderSAW | core.OrderSAS

// efa is Amazon's Elastic Fabric Adapter.
var efa = Profile{Name: "efa", Kinds: []Kind{
	{
		Type: core.EPTypeRDM,
		Caps: comm | msgCaps | rmaCaps | core.CapTagged | core.CapAtomic | core.CapSource | core.CapMultiRecv | core.CapDirectedRecv,
		// The descriptor is optional. Without it the provider copies.
		MRMode: basicMap, Legacy: core.MRModeBasic, Choice: core.MRModeLocal,
		Inject: 4096, TxSize: 256, RxSize: 8192, TxIOV: 4, RxIOV: 4, RMAIOV: 1, TxOrder: core.OrderSAS | atomicOrder,
		OrderRAW: 8760, OrderWAR: 8760, OrderWAW: 8760, CQDataSize: 4, KeySize: 4, CQSize: 12288, CntrCnt: none,
		Threading: core.ThreadSafe, Manual: true, AVType: core.AVTable,
		WhyLocal: "the device reads memory by the lkey of the descriptor: a local protection fault (EFA_IO_COMP_STATUS_LOCAL_ERROR_INVALID_LKEY)",
		WhyKey:   "the remote side answers EFA_IO_COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS",
	},
	efaDgram,
}}

// efaDirect is EFA without its provider's protocols: the operations of the device.
var efaDirect = Profile{Name: "efa-direct", Kinds: []Kind{
	{
		Type: core.EPTypeRDM, Caps: comm | msgCaps | rmaCaps | core.CapSource, Mode: core.ModeContext2, CQData: core.ModeRxCQData,
		MRMode: basicMap | core.MRModeLocal, Legacy: core.MRModeBasic,
		Inject: 32, MaxMsg: 8928, TxSize: 512, RxSize: 8192, TxIOV: 2, RxIOV: 1, RMAIOV: 1, TxOrder: 0,
		OrderRAW: none, OrderWAR: none, OrderWAW: none, CQDataSize: 4, KeySize: 4, CQSize: 12288, CntrCnt: none,
		Threading: core.ThreadSafe, AVType: core.AVTable,
		WhyLocal:   "the device reads memory by the lkey of the descriptor: a local protection fault (EFA_IO_COMP_STATUS_LOCAL_ERROR_INVALID_LKEY)",
		WhyKey:     "the remote side answers EFA_IO_COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS",
		WhyContext: "the provider keeps the state of the work request there", ConsumesRecv: true,
	},
	efaDgram,
}}

var efaDgram = Kind{
	Type: core.EPTypeDgram, Caps: comm | msgCaps | core.CapSource, Mode: core.ModeMsgPrefix | core.ModeContext2,
	MRMode: basicMap | core.MRModeLocal, Legacy: core.MRModeBasic,
	Prefix: 40, Inject: 32, MaxMsg: 8928, TxSize: 512, RxSize: 8192, TxIOV: 2, RxIOV: 1, CQDataSize: 4, KeySize: 4, CQSize: 1024, CntrCnt: none,
	Threading: core.ThreadDomain, RMDisabled: true, AVType: core.AVTable,
	WhyLocal:   "the device reads memory by the lkey of the descriptor: a local protection fault (EFA_IO_COMP_STATUS_LOCAL_ERROR_INVALID_LKEY)",
	WhyContext: "the provider keeps the state of the work request there",
}
