package rxd

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

const (
	ctxSize  = 1024 // transmits; and receives, unless more are asked for
	iovLimit = 4

	domainCaps = core.CapLocalComm | core.CapRemoteComm
	vectorCaps = core.CapAVUserID | core.CapSharedAV // native has neither
	epCaps     = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic | core.CapRMAPMem
	txCaps     = core.CapSend | core.CapWrite | core.CapRead | core.CapFence | core.CapTrigger | core.CapNamedRxCtx // native has no fences, and triggers nothing
	rxCaps     = core.CapRecv | core.CapRemoteRead | core.CapRemoteWrite | core.CapRMAEvent | core.CapSource | core.CapDirectedRecv | core.CapMultiRecv |
		core.CapTaggedMultiRecv | core.CapTaggedDirectedRecv | core.CapExactDirectedRecv | core.CapSourceErr |
		core.CapTrigger

	txOpFlags = core.OpInject | core.OpInjectComplete | core.OpTransmitComplete | core.OpDeliveryComplete | core.OpMatchComplete |
		core.OpCommitComplete | core.OpCompletion
	rxOpFlags = core.OpMultiRecv | core.OpCompletion

	msgOrder = core.OrderRAR | core.OrderRAW | core.OrderRAS | core.OrderWAW | core.OrderWAS | core.OrderSAW | core.OrderSAS |
		core.OrderRMARAR | core.OrderRMARAW | core.OrderRMAWAW |
		core.OrderAtomicRAR | core.OrderAtomicRAW | core.OrderAtomicWAR | core.OrderAtomicWAW |
		core.OrderWAR | core.OrderRMAWAR | core.OrderSAR // on request; native has none of these

	// Of native packets: the longest, and what their headers take of an inject by native's reckoning, which counts the remote ranges twice (rxd_init.c).
	nativeMax      = 4096
	nativeOverhead = 216
)

// info is what the layer makes of base, an Info of the provider of datagrams below (fi_rxd(7)).
func (s *settings) info(base *core.Info) *core.Info {
	caps := domainCaps
	if base.Caps&domainCaps != 0 {
		caps = base.Caps & domainCaps
	}
	caps |= vectorCaps
	ep := epCaps
	if s.extensions {
		ep |= core.CapCollective // between peers of this module
	}
	inject := 0
	if base.EP != nil {
		inject = max(min(base.EP.MaxMsgSize, nativeMax)-nativeOverhead, 0)
	}
	i := &core.Info{
		Caps:       caps | ep | txCaps | rxCaps,
		AddrFormat: base.AddrFormat,
		Tx: &core.TxAttr{Caps: ep | txCaps, OpFlags: txOpFlags, MsgOrder: msgOrder, InjectSize: inject, Size: ctxSize,
			IOVLimit: iovLimit, RMAIOVLimit: iovLimit},
		Rx: &core.RxAttr{Caps: ep | rxCaps, OpFlags: rxOpFlags, MsgOrder: msgOrder, Size: endpoint.RxSizeMax, IOVLimit: iovLimit},
		EP: &core.EPAttr{Type: core.EPTypeRDM, Protocol: core.ProtoRXD, ProtocolVersion: 1, MaxMsgSize: core.MaxSize,
			MaxOrderRAWSize: core.MaxSize, MaxOrderWARSize: core.MaxSize, MaxOrderWAWSize: core.MaxSize, MemTagFormat: core.TagGeneric, TxCtxCnt: 1, RxCtxCnt: 1,
			AuthKeySize: core.MaxAuthKey},
		Domain: &core.DomainAttr{Name: base.Domain.Name, Caps: caps, Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto,
			DataProgress: core.ProgressAuto, ResourceMgmt: core.RMEnabled, MRMode: core.MRModeBasic | core.MRModeScalable, MRKeySize: 8,
			CQDataSize: 8, CQCnt: 128, EPCnt: 128, TxCtxCnt: 128 * endpoint.MaxContexts, RxCtxCnt: 128 * endpoint.MaxContexts,
			MaxEPTxCtx: endpoint.MaxContexts, MaxEPRxCtx: endpoint.MaxContexts, MaxEPStxCtx: 128, MaxEPSrxCtx: 128, MRIOVLimit: 1,
			AuthKeySize: core.MaxAuthKey, MaxEPAuthKey: endpoint.MaxEPAuthKey}, // native has no keys
		Fabric: &core.FabricAttr{Name: base.Fabric.Name, ProvName: layerName, ProvVersion: core.LibraryVersion},
	}
	if !s.extensions {
		i.EP.AuthKeySize, i.Domain.AuthKeySize, i.Domain.MaxEPAuthKey = 0, 0, 0
	}
	return i
}
