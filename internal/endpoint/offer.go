package endpoint

import (
	"gofabric/av"
	"gofabric/core"
	"gofabric/core/mr"
)

// Attributes that all providers report in their Infos (fi_getinfo(3)).
const (
	DomainCaps = core.CapLocalComm | core.CapRemoteComm
	VectorCaps = core.CapAVUserID | av.SharedCaps // libfabric's tcp and udp have neither
	IOVLimit   = 4
	MRModes    = core.MRModeBasic | core.MRModeScalable
)

// MaxContexts is the largest number of transmit contexts, and of receive contexts, of a scalable endpoint.
const MaxContexts = 16

// Attributes of reliable endpoints. In libfabric, tcp has no atomics, layers have no fences, and neither has
// triggered operations.
const (
	EPCaps     = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic | mr.PersistentCaps
	TxCaps     = core.CapSend | core.CapWrite | core.CapRead | core.CapFence | core.CapTrigger
	RDMTxCaps  = TxCaps | core.CapNamedRxCtx
	RxCaps     = core.CapRecv | core.CapRemoteRead | core.CapRemoteWrite | core.CapRMAEvent | core.CapTrigger | core.CapMultiRecv | core.CapTaggedMultiRecv
	SharedCaps = RxCaps | core.CapDirectedRecv | core.CapSource // of endpoints with a shared receive context
	RDMRxCaps  = SharedCaps | core.CapTaggedDirectedRecv | core.CapExactDirectedRecv | core.CapSourceErr

	// TxOpFlags and RxOpFlags are the operation flags that can be defaults of the plain calls.
	TxOpFlags = core.OpInject | core.OpInjectComplete | core.OpTransmitComplete | core.OpDeliveryComplete | core.OpMatchComplete | core.OpCommitComplete | core.OpCompletion
	RxOpFlags = core.OpCompletion | core.OpMultiRecv
	// MsgOrder are all orders on offer. Those of readOrder, which libfabric's tcp does not offer, are set on
	// request only.
	MsgOrder = core.OrderRAR | core.OrderRMARAR | core.OrderAtomicRAR |
		core.OrderRAW | core.OrderRMARAW | core.OrderAtomicRAW |
		core.OrderWAW | core.OrderRMAWAW | core.OrderAtomicWAW | core.OrderAtomicWAR |
		core.OrderRAS | core.OrderWAS | core.OrderSAW | core.OrderSAS | readOrder
)
