package gateway

import (
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// TaggedPrefix appends the packet headers for a message that came without them. libfabric 1.17 over tcp sends a
// short tagged message with its tag in the header of the transfer, and only the payload behind it
// (docs/wire/rxm.md, "libfabric 1.17"). The function is for Config.Prefix of the connection below
// (internal/xnet/engine).
func TaggedPrefix(dst []byte, h *xwire.Header) []byte {
	p := wire.Packet{Type: wire.TypeEager, Op: wire.OpTagged, Size: h.PayloadLen(), Tag: h.Tag}
	if h.Flags&xwire.FlagCQData != 0 {
		p.Flags, p.Data = wire.FlagCQData, h.CQData
	}
	return p.Append(dst)
}
