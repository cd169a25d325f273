package rxm

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

const (
	txSizeMax   = 16384
	internalMax = 65536 // answers that may wait for one peer
	iovLimit    = 4

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
)

// spreadOrder are the orders that are kept when a peer has several connections: messages and atomics go over one (native's RXM_MQP_MSG_ORDER).
const spreadOrder = core.OrderSAS | core.OrderAtomicRAR | core.OrderAtomicRAW | core.OrderAtomicWAR | core.OrderAtomicWAW

// spread takes from info what several connections per peer cannot promise.
func spread(info *core.Info) {
	info.Tx.MsgOrder &= spreadOrder
	info.Rx.MsgOrder &= spreadOrder
	info.EP.MaxOrderRAWSize, info.EP.MaxOrderWARSize, info.EP.MaxOrderWAWSize = 0, 0, 0
	info.Caps &^= core.CapFence
	info.Tx.Caps &^= core.CapFence
}

// info is what the layer makes of base, an Info of the provider of connections below, at best (fi_rxm(7)).
func (s *settings) info(base *core.Info) *core.Info {
	caps := domainCaps
	if base.Caps&domainCaps != 0 {
		caps = base.Caps & domainCaps
	}
	caps |= vectorCaps
	kinds := epCaps
	if s.direct {
		kinds |= core.CapCollective // between peers of this module; native leaves collectives to others
	}
	info := &core.Info{
		Caps:       caps | kinds | txCaps | rxCaps,
		AddrFormat: base.AddrFormat,
		Tx: &core.TxAttr{Caps: kinds | txCaps, OpFlags: txOpFlags, MsgOrder: msgOrder, InjectSize: min(s.bufferSize, stagingMax), Size: max(txSizeMax, s.txSize),
			IOVLimit: iovLimit, RMAIOVLimit: iovLimit},
		Rx: &core.RxAttr{Caps: kinds | rxCaps, OpFlags: rxOpFlags, MsgOrder: msgOrder, Size: endpoint.RxSizeMax, IOVLimit: iovLimit},
		EP: &core.EPAttr{Type: core.EPTypeRDM, Protocol: core.ProtoRXM, ProtocolVersion: 1, MaxMsgSize: base.EP.MaxMsgSize,
			MaxOrderRAWSize: core.MaxSize, MaxOrderWARSize: core.MaxSize, MaxOrderWAWSize: core.MaxSize, MemTagFormat: core.TagGeneric, TxCtxCnt: 1, RxCtxCnt: 1,
			AuthKeySize: core.MaxAuthKey},
		Domain: &core.DomainAttr{Name: base.Domain.Name, Caps: caps, Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto,
			DataProgress: core.ProgressAuto, ResourceMgmt: core.RMEnabled, MRMode: core.MRModeBasic | core.MRModeScalable, MRKeySize: 8,
			CQDataSize: 8, CQCnt: 1 << 16, EPCnt: 1 << 15, TxCtxCnt: endpoint.MaxContexts << 15, RxCtxCnt: endpoint.MaxContexts << 15,
			MaxEPTxCtx: endpoint.MaxContexts, MaxEPRxCtx: endpoint.MaxContexts, MaxEPStxCtx: 1 << 15, MaxEPSrxCtx: 1 << 15, MRIOVLimit: 1,
			AuthKeySize: core.MaxAuthKey, MaxEPAuthKey: endpoint.MaxEPAuthKey}, // native has no keys
		Fabric: &core.FabricAttr{Name: base.Fabric.Name, ProvName: layerName, ProvVersion: core.LibraryVersion},
	}
	if s.conns > 1 {
		spread(info)
	}
	return info
}

// defaults replaces limits of info by what callers get who do not ask for more.
func (s *settings) defaults(info *core.Info) {
	info.Tx.Size, info.Rx.Size = s.txSize, s.rxSize
	if below := info.Below(); below != nil && below.Tx != nil && below.Tx.InjectSize > 0 {
		// Native subtracts its header, which is not there between peers of this module, and is copied anyway where it is.
		info.Tx.InjectSize = min(below.Tx.InjectSize, info.Tx.InjectSize)
	}
}
