package dump

import (
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// rxmMax is the longest message that is looked at for a packet, bytes: native's, with buffers of the usual size and a little more.
const rxmMax = 64<<10 + wire.MaxHeader

// rxmOn tells whether a connection carries packets of ofi_rxm: from the private data of its request, and whether both ends can do without.
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

// carries reports whether a frame of such a connection is a packet, all of which is needed to tell what it says.
func (r *rxmOn) carries(h *xwire.Header) bool {
	return r.is && h.Op == xwire.OpMsg && h.OpData != xwire.OpDataAck && h.Flags&xwire.FlagTagged == 0 && h.PayloadLen() >= wire.HeaderLen && h.PayloadLen() <= rxmMax
}

// describe adds to r what the packet in its payload says, and leaves of the payload what was asked for: that of the packet.
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
