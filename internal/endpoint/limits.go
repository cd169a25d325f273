package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// minMultiDefault is FI_OPT_MIN_MULTI_RECV before anybody sets it, bytes (fi_endpoint(3)).
const minMultiDefault = 16384

// RxSizeMax is how many receives an endpoint or a shared context of a reliable stack may be asked to keep posted (rx_attr.size). Posting them costs memory,
// offering it does not, and matching takes no longer for it; native providers stop at 65536, or at 1024.
const RxSizeMax = 1 << 20

// peerBytesMin is what any one peer's unexpected messages may take at least, bytes.
const peerBytesMin = 4096

// RxLimits bounds what a receive context keeps of messages that nobody has posted a receive for.
type RxLimits struct {
	Bytes        uint64 // altogether; a quarter of it for any one peer
	PeerMessages int    // of one peer; 0 does not bound their number
}

// Apply sets the limits of rx, and its size if attr, which may be nil, has one. Locked, or before anybody uses rx.
func (l RxLimits) Apply(rx *engine.RxContext, attr *core.RxAttr) {
	rx.Limit, rx.PeerLimit, rx.PeerMessages = l.Bytes, max(l.Bytes/4, peerBytesMin), l.PeerMessages
	rx.MinMulti = minMultiDefault
	if attr != nil && attr.Size > 0 {
		rx.Depth = attr.Size
	}
}
