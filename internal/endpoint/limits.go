package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// minMultiDefault is FI_OPT_MIN_MULTI_RECV before the application sets it, bytes (fi_endpoint(3)).
const minMultiDefault = 16384

// RxSizeMax is the largest rx_attr.size of an endpoint or shared context of a reliable stack. The receives that are
// posted cost memory. The limit itself costs none, and matching does not depend on it. libfabric's providers have
// limits of 1024 to 65536.
const RxSizeMax = 1 << 20

// peerBytesMin is the least memory for unexpected messages of one peer, bytes.
const peerBytesMin = 4096

// RxLimits bounds the memory of a receive context for unexpected messages, those without a posted receive.
type RxLimits struct {
	Bytes        uint64 // in total; one peer can use a quarter of it
	PeerMessages int    // per peer; 0 does not bound their number
}

// Apply sets the limits of rx, and its size if attr has one. attr may be nil. Locked, or before rx is in use.
func (l RxLimits) Apply(rx *engine.RxContext, attr *core.RxAttr) {
	rx.Limit, rx.PeerLimit, rx.PeerMessages = l.Bytes, max(l.Bytes/4, peerBytesMin), l.PeerMessages
	rx.MinMulti = minMultiDefault
	if attr != nil && attr.Size > 0 {
		rx.Depth = attr.Size
	}
}
