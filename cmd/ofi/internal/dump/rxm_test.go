package dump

import (
	"testing"

	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// TestRXM: dump recognizes packets of ofi_rxm by the connection request. Two ends with FeatureDirect exchange none.
func TestRXM(t *testing.T) {
	req := (&wire.Connect{Port: 9, EagerLimit: 16384, Conn: wire.ConnID(1, 0)}).Append(nil)
	resp := (&wire.Accept{Conn: wire.ConnID(2, 0)}).Append(nil)
	pkt := (&wire.Packet{Type: wire.TypeEager, Op: wire.OpTagged, Size: 3, Tag: 0x12}).Append(nil)
	pkt = append(pkt, "abc"...)
	h := xwire.Header{Op: xwire.OpMsg}
	h.SetPayload(uint64(len(pkt)))
	frame := append(h.Append(nil, xwire.Little), pkt...)
	short := xwire.Header{Op: xwire.OpMsg}
	short.SetPayload(70) // too short for what it claims to hold
	bad := append(short.Append(nil, xwire.Little), pkt[:64]...)
	bad = append(bad, make([]byte, 6)...)
	for direct, want := range map[uint32]string{0: " rxm eager tagged size 3 tag 0x12 to 0", xwire.FeatureDirect: ""} {
		p := newTape()
		p.packet(0, 0, xwire.AppendCMFeatures(nil, xwire.CMConnReq, direct, req), 0)
		p.packet(1, 0, xwire.AppendCMFeatures(nil, xwire.CMConnResp, direct, resp), 0)
		p.packet(0, 0, frame[:50], 0)
		p.packet(0, 0, frame[50:], 0)
		p.packet(0, 0, bad, 0)
		wantTexts(t, p, "connreq little data 24", "connresp little data 16", "msg id 0 size 83 (16+67)"+want, "msg id 0 size 86 (16+70)")
	}
}
