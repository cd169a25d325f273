package layer

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// Offer is the part of an Info that differs between layers with RDM endpoints.
type Offer struct {
	Protocol core.Protocol
	// Extended means that the layer uses protocol extensions between gofabric peers. Collectives need them, and
	// native peers ignore them.
	Extended   bool
	InjectSize int // bytes
	TxSize     int // operations
	MaxMsgSize int // bytes
	CQs, EPs   int // of a domain
}

// Info returns the largest Info that layer b can offer over base, an Info of the provider below.
func Info(b *Base, base *core.Info, o Offer) *core.Info {
	caps, kinds := endpoint.DomainCaps, endpoint.EPCaps
	if base.Caps&endpoint.DomainCaps != 0 {
		caps = base.Caps & endpoint.DomainCaps
	}
	caps |= endpoint.VectorCaps
	if o.Extended {
		kinds |= core.CapCollective
	}
	contexts := o.EPs * endpoint.MaxContexts
	return &core.Info{
		Caps:       caps | kinds | endpoint.RDMTxCaps | endpoint.RDMRxCaps,
		AddrFormat: base.AddrFormat,
		Tx: &core.TxAttr{Caps: kinds | endpoint.RDMTxCaps, OpFlags: endpoint.TxOpFlags, MsgOrder: endpoint.MsgOrder, InjectSize: o.InjectSize, Size: o.TxSize,
			IOVLimit: endpoint.IOVLimit, RMAIOVLimit: endpoint.IOVLimit},
		Rx: &core.RxAttr{Caps: kinds | endpoint.RDMRxCaps, OpFlags: endpoint.RxOpFlags, MsgOrder: endpoint.MsgOrder, Size: endpoint.RxSizeMax, IOVLimit: endpoint.IOVLimit},
		EP: &core.EPAttr{Type: core.EPTypeRDM, Protocol: o.Protocol, ProtocolVersion: 1, MaxMsgSize: o.MaxMsgSize,
			MaxOrderRAWSize: core.MaxSize, MaxOrderWARSize: core.MaxSize, MaxOrderWAWSize: core.MaxSize, MemTagFormat: core.TagGeneric, TxCtxCnt: 1, RxCtxCnt: 1,
			AuthKeySize: core.MaxAuthKey},
		Domain: &core.DomainAttr{Name: base.Domain.Name, Caps: caps, Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto,
			DataProgress: core.ProgressAuto, ResourceMgmt: core.RMEnabled, MRMode: endpoint.MRModes, MRKeySize: 8,
			CQDataSize: 8, CQCnt: o.CQs, EPCnt: o.EPs, TxCtxCnt: contexts, RxCtxCnt: contexts,
			MaxEPTxCtx: endpoint.MaxContexts, MaxEPRxCtx: endpoint.MaxContexts, MaxEPStxCtx: o.EPs, MaxEPSrxCtx: o.EPs, MRIOVLimit: 1,
			AuthKeySize: core.MaxAuthKey, MaxEPAuthKey: endpoint.MaxEPAuthKey}, // libfabric's layers have no keys
		Fabric: &core.FabricAttr{Name: base.Fabric.Name, ProvName: b.name, ProvVersion: core.LibraryVersion},
	}
}
