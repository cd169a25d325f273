package endpoint

import (
	"gofabric/av"
	"gofabric/core"
	"gofabric/core/mr"
)

// What all providers say of themselves in their Infos (fi_getinfo(3)).
const (
	DomainCaps = core.CapLocalComm | core.CapRemoteComm
	VectorCaps = core.CapAVUserID | av.SharedCaps // native has neither
	IOVLimit   = 4
	MRModes    = core.MRModeBasic | core.MRModeScalable
)

// What reliable endpoints say. Native has no atomics over tcp, no fences in layers, and no triggered operations anywhere.
const (
	EPCaps     = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic | mr.PersistentCaps
	TxCaps     = core.CapSend | core.CapWrite | core.CapRead | core.CapFence | core.CapTrigger
	RDMTxCaps  = TxCaps | core.CapNamedRxCtx
	RxCaps     = core.CapRecv | core.CapRemoteRead | core.CapRemoteWrite | core.CapRMAEvent | core.CapTrigger | core.CapMultiRecv | core.CapTaggedMultiRecv
	SharedCaps = RxCaps | core.CapDirectedRecv | core.CapSource // of endpoints with a shared receive context
	RDMRxCaps  = SharedCaps | core.CapTaggedDirectedRecv | core.CapExactDirectedRecv | core.CapSourceErr

	// TxOpFlags and RxOpFlags are the operation flags that the plain calls can be given.
	TxOpFlags = core.OpInject | core.OpInjectComplete | core.OpTransmitComplete | core.OpDeliveryComplete | core.OpMatchComplete | core.OpCommitComplete | core.OpCompletion
	RxOpFlags = core.OpCompletion | core.OpMultiRecv
	// MsgOrder is every order that can be had: those of readOrder, which native has not, on request only.
	MsgOrder = core.OrderRAR | core.OrderRMARAR | core.OrderAtomicRAR |
		core.OrderRAW | core.OrderRMARAW | core.OrderAtomicRAW |
		core.OrderWAW | core.OrderRMAWAW | core.OrderAtomicWAW | core.OrderAtomicWAR |
		core.OrderRAS | core.OrderWAS | core.OrderSAW | core.OrderSAS | readOrder
)
