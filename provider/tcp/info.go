package tcp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

const (
	maxCtxSize       = 65536 // limit of transmits; also the rx size reported without hints, as in libfabric
	msgCtxSize       = 1024  // the same for MSG endpoints
	cmDataMax        = 256
	protocolVersion0 = 0
	protocolVersion1 = 1
)

// infos are the provider's three kinds of endpoint, in libfabric's order: MSG, MSG with a shared receive context,
// and RDM (fi_tcp(7)).
func infos(p *settings) []*core.Info {
	return []*core.Info{
		// libfabric has tags and FI_MULTI_RECV only with a shared context.
		makeInfo(p, core.EPTypeMsg, endpoint.EPCaps, endpoint.RxCaps, msgCtxSize, 1),
		makeInfo(p, core.EPTypeMsg, endpoint.EPCaps, endpoint.SharedCaps, msgCtxSize, core.SharedContext),
		makeInfo(p, core.EPTypeRDM, endpoint.EPCaps|core.CapCollective, endpoint.RDMRxCaps, maxCtxSize, 1),
	}
}

func makeInfo(p *settings, t core.EPType, caps, rx core.Caps, txSize, rxCtx int) *core.Info {
	i := &core.Info{
		Caps:       endpoint.DomainCaps | endpoint.VectorCaps | caps | endpoint.TxCaps | rx,
		AddrFormat: core.FormatSockaddrIP,
		Tx: &core.TxAttr{Caps: caps | endpoint.TxCaps, OpFlags: endpoint.TxOpFlags, MsgOrder: endpoint.MsgOrder, InjectSize: p.maxInject,
			Size: txSize, IOVLimit: endpoint.IOVLimit, RMAIOVLimit: endpoint.IOVLimit},
		Rx: &core.RxAttr{Caps: caps | rx, OpFlags: endpoint.RxOpFlags, MsgOrder: endpoint.MsgOrder, Size: endpoint.RxSizeMax, IOVLimit: endpoint.IOVLimit},
		EP: &core.EPAttr{Type: t, Protocol: core.ProtoSockTCP, ProtocolVersion: protocolVersion0, MaxMsgSize: core.MaxSize,
			MaxOrderRAWSize: core.MaxSize, MaxOrderWARSize: core.MaxSize, MaxOrderWAWSize: core.MaxSize, MemTagFormat: core.TagGeneric, TxCtxCnt: 1, RxCtxCnt: rxCtx,
			AuthKeySize: core.MaxAuthKey},
		Domain: &core.DomainAttr{Name: "tcp", Caps: endpoint.DomainCaps | endpoint.VectorCaps, Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto,
			DataProgress: core.ProgressAuto, ResourceMgmt: core.RMEnabled, MRMode: endpoint.MRModes, MRKeySize: 8, CQDataSize: 8,
			CQCnt: 256, EPCnt: 8192, TxCtxCnt: 8192, RxCtxCnt: 8192, MaxEPSrxCtx: 8192, MaxEPStxCtx: 8192, MaxEPTxCtx: 1, MaxEPRxCtx: 1, MRIOVLimit: 1,
			AuthKeySize: core.MaxAuthKey}, // libfabric's tcp has no keys
		Fabric: &core.FabricAttr{Name: "tcp", ProvName: "tcp", ProvVersion: core.LibraryVersion},
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
