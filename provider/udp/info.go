package udp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// The values that native's udp provider reports (fi_udp(7), fi_info -p udp -v).
const (
	ctxSize   = 1024
	nativeMTU = 1472 // the longest payload in one Ethernet frame with IPv4
	objectCnt = 256
)

const (
	txCaps = core.CapMsg | core.CapMulticast | core.CapSend
	rxCaps = core.CapMsg | core.CapRecv | core.CapSource
)

// infos returns the provider's one kind of endpoint.
func infos(s *settings) []*core.Info {
	return []*core.Info{{
		Caps:       endpoint.DomainCaps | endpoint.VectorCaps | txCaps | rxCaps,
		AddrFormat: core.FormatSockaddrIP,
		Tx:         &core.TxAttr{Caps: txCaps, InjectSize: s.mtu, Size: ctxSize, IOVLimit: endpoint.IOVLimit},
		Rx:         &core.RxAttr{Caps: rxCaps, Size: ctxSize, IOVLimit: endpoint.IOVLimit},
		EP:         &core.EPAttr{Type: core.EPTypeDgram, Protocol: core.ProtoUDP, MaxMsgSize: s.mtu, TxCtxCnt: 1, RxCtxCnt: 1},
		Domain: &core.DomainAttr{Name: "udp", Caps: endpoint.DomainCaps | endpoint.VectorCaps, Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto,
			DataProgress: core.ProgressAuto, ResourceMgmt: core.RMEnabled, MRMode: endpoint.MRModes, MRKeySize: 8, CQCnt: objectCnt, EPCnt: objectCnt,
			TxCtxCnt: objectCnt, RxCtxCnt: objectCnt, MaxEPTxCtx: 1, MaxEPRxCtx: 1,
			MaxEPStxCtx: objectCnt, MaxEPSrxCtx: objectCnt}, // native has no shared contexts
		Fabric: &core.FabricAttr{Name: "UDP-IP", ProvName: "udp", ProvVersion: core.ProviderVersion},
	}}
}
