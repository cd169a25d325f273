package engine

import (
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// TaggedPrefix makes the headers of a packet for a message that came without them: libfabric 1.17 over tcp has the tag of a short tagged message in the header
// of the transfer, and the payload alone behind it. It is what the connection below has for its Config.Prefix (internal/xnet/engine).
func TaggedPrefix(dst []byte, h *xwire.Header) []byte {
	p := wire.Packet{Type: wire.TypeEager, Op: wire.OpTagged, Size: h.PayloadLen(), Tag: h.Tag}
	if h.Flags&xwire.FlagCQData != 0 {
		p.Flags, p.Data = wire.FlagCQData, h.CQData
	}
	return p.Append(dst)
}
