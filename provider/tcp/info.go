package tcp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

const (
	defaultTxSize    = 256
	defaultRxSize    = 256
	maxCtxSize       = 65536 // transmits; and what is said of receives to those who do not ask, as natively
	msgCtxSize       = 1024  // likewise, of MSG endpoints
	iovLimit         = 4
	cmDataMax        = 256
	protocolVersion0 = 0
	protocolVersion1 = 1
)

const (
	domainCaps = core.CapLocalComm | core.CapRemoteComm
	vectorCaps = core.CapAVUserID | core.CapSharedAV                          // native has neither
	epCaps     = core.CapMsg | core.CapRMA | core.CapAtomic | core.CapRMAPMem // native has no atomics and no fences
	taggedCaps = epCaps | core.CapTagged
	txCaps     = core.CapSend | core.CapWrite | core.CapRead | core.CapFence | core.CapTrigger // nor triggered operations
	rxCaps     = core.CapRecv | core.CapRemoteRead | core.CapRemoteWrite | core.CapRMAEvent | core.CapTrigger | core.CapMultiRecv | core.CapTaggedMultiRecv
	srxCaps    = rxCaps | core.CapDirectedRecv | core.CapSource
	rdmRxCaps  = srxCaps | core.CapTaggedDirectedRecv | core.CapExactDirectedRecv | core.CapSourceErr

	txOpFlags = core.OpInject | core.OpInjectComplete | core.OpTransmitComplete | core.OpDeliveryComplete | core.OpMatchComplete | core.OpCommitComplete | core.OpCompletion
	rxOpFlags = core.OpCompletion | core.OpMultiRecv

	msgOrder = core.OrderRAR | core.OrderRMARAR | core.OrderAtomicRAR |
		core.OrderRAW | core.OrderRMARAW | core.OrderAtomicRAW |
		core.OrderWAW | core.OrderRMAWAW | core.OrderAtomicWAW | core.OrderAtomicWAR |
		core.OrderWAR | core.OrderRMAWAR | core.OrderSAR | // on request; native has none of these
		core.OrderRAS | core.OrderWAS | core.OrderSAW | core.OrderSAS

	mrModes = core.MRModeBasic | core.MRModeScalable
)

// infos are the provider's three kinds of endpoint, in native's order: MSG, MSG over a shared receive context, RDM (fi_tcp(7)).
func infos(p *settings) []*core.Info {
	return []*core.Info{
		makeInfo(p, core.EPTypeMsg, taggedCaps, rxCaps, msgCtxSize, 1), // native has tags and multi-receives with a shared context only
		makeInfo(p, core.EPTypeMsg, taggedCaps, srxCaps, msgCtxSize, core.SharedContext),
		makeInfo(p, core.EPTypeRDM, taggedCaps|core.CapCollective, rdmRxCaps, maxCtxSize, 1),
	}
}

func makeInfo(p *settings, t core.EPType, caps, rx core.Caps, txSize, rxCtx int) *core.Info {
	i := &core.Info{
		Caps:       domainCaps | vectorCaps | caps | txCaps | rx,
		AddrFormat: core.FormatSockaddrIP,
		Tx: &core.TxAttr{Caps: caps | txCaps, OpFlags: txOpFlags, MsgOrder: msgOrder, InjectSize: p.maxInject,
			Size: txSize, IOVLimit: iovLimit, RMAIOVLimit: iovLimit},
		Rx: &core.RxAttr{Caps: caps | rx, OpFlags: rxOpFlags, MsgOrder: msgOrder, Size: endpoint.RxSizeMax, IOVLimit: iovLimit},
		EP: &core.EPAttr{Type: t, Protocol: core.ProtoSockTCP, ProtocolVersion: protocolVersion0, MaxMsgSize: core.MaxSize,
			MaxOrderRAWSize: core.MaxSize, MaxOrderWARSize: core.MaxSize, MaxOrderWAWSize: core.MaxSize, TxCtxCnt: 1, RxCtxCnt: rxCtx, AuthKeySize: core.MaxAuthKey},
		Domain: &core.DomainAttr{Name: "tcp", Caps: domainCaps | vectorCaps, Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto,
			DataProgress: core.ProgressAuto, ResourceMgmt: core.RMEnabled, MRMode: mrModes, MRKeySize: 8, CQDataSize: 8,
			CQCnt: 256, EPCnt: 8192, TxCtxCnt: 8192, RxCtxCnt: 8192, MaxEPSrxCtx: 8192, MaxEPStxCtx: 8192, MaxEPTxCtx: 1, MaxEPRxCtx: 1, MRIOVLimit: 1,
			AuthKeySize: core.MaxAuthKey}, // native has no keys
		Fabric: &core.FabricAttr{Name: "tcp", ProvName: "tcp", ProvVersion: core.LibraryVersion},
	}
	if caps&core.CapTagged != 0 {
		i.EP.MemTagFormat = core.TagGeneric
	}
	if t == core.EPTypeRDM {
		i.EP.Protocol, i.EP.ProtocolVersion = core.ProtoXNET, protocolVersion1
		d := i.Domain
		d.EPCnt, d.TxCtxCnt, d.RxCtxCnt, d.MaxEPSrxCtx = 256, 256*endpoint.MaxContexts, 256*endpoint.MaxContexts, 256
		d.MaxEPAuthKey = endpoint.MaxEPAuthKey
		d.MaxEPTxCtx, d.MaxEPRxCtx = endpoint.MaxContexts, endpoint.MaxContexts
		i.Caps |= core.CapNamedRxCtx
		i.Tx.Caps |= core.CapNamedRxCtx
	}
	return i
}
