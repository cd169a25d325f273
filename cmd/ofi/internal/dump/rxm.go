package dump

import (
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// rxmMax is the largest message that may be a packet, in bytes: native's, with buffers of the default size and some
// margin.
const rxmMax = 64<<10 + wire.MaxHeader

// rxmOn records whether a connection carries packets of ofi_rxm. It follows from the private data of its request,
// and from whether both ends can omit the packets.
type rxmOn struct {
	asked, direct bool
	is            bool
}

func (r *rxmOn) cm(cm *xwire.CM) {
	direct := cm.Features&xwire.FeatureDirect != 0
	switch cm.Type {
	case xwire.CMConnReq:
		var c wire.Connect
		r.asked, r.direct = c.Parse(cm.Data) == nil, direct
		r.is = r.asked && !direct
	case xwire.CMConnResp:
		r.is = r.asked && !(r.direct && direct)
	}
}

// carries reports whether a frame of the connection is a packet. Its whole payload is needed to describe it.
func (r *rxmOn) carries(h *xwire.Header) bool {
	return r.is && h.Op == xwire.OpMsg && h.OpData != xwire.OpDataAck && h.Flags&xwire.FlagTagged == 0 && h.PayloadLen() >= wire.HeaderLen && h.PayloadLen() <= rxmMax
}

// describe adds the description of the packet in its payload to r, and leaves the packet's own payload in r, as far
// as it was asked for.
func describe(r *Record, want int) {
	var p wire.Packet
	payload, err := p.Parse(r.Payload)
	if err != nil {
		r.Payload = r.Payload[:min(want, len(r.Payload))]
		return
	}
	r.Text += " rxm " + p.String()
	if f, ok := r.Fields.(*headerFields); ok {
		f.RXM = p.String()
	}
	r.Payload = payload[:min(want, len(payload))]
}
