package wire

import (
	"fmt"
	"strconv"
)

// String returns the name in lower case, or xtype(N) for an unknown one.
func (t XType) String() string {
	if int(t) < len(xtypeNames) && xtypeNames[t] != "" {
		return xtypeNames[t]
	}
	return "xtype(" + strconv.Itoa(int(t)) + ")"
}

var xflagNames = []flagName{{uint16(FlagXAckNow), "ack_now"}, {uint16(FlagXSACK), "sack"}, {uint16(FlagXFin), "fin"}}

// String lists the flags, as in ack_now|sack; "0" if there is none.
func (f XFlags) String() string { return listFlags(uint16(f), xflagNames) }

// String returns one line about the packet, for logs and ofi dump: tagged peer 1 seq 4 flags tag|inline tag 0x43.
func (o *Op) String() string {
	b := fmt.Appendf(nil, "%s peer %d seq %d flags %s", o.Type, o.Peer, o.Seq, o.Flags)
	if o.HasTag() {
		b = fmt.Appendf(b, " tag %#x", o.Tag)
	}
	if o.HasCQData() {
		b = fmt.Appendf(b, " cq_data %#x", o.CQData)
	}
	if o.HasSAR() {
		b = fmt.Appendf(b, " size %d segs %d tx %d", o.SAR.Size, o.SAR.NumSegs, o.SAR.TxID)
	}
	if o.Type.HasRMA() {
		for _, v := range o.RMA[:o.NRMA] {
			b = fmt.Appendf(b, " [%#x+%d key %#x]", v.Addr, v.Len, v.Key)
		}
	}
	if o.Type.HasAtom() {
		b = fmt.Appendf(b, " datatype %d op %d", o.AtomDatatype, o.AtomOp)
	}
	return string(b)
}

// String returns one line about the packet: data peer 1 seq 5 tx 3 seg 0.
func (d *Data) String() string {
	return fmt.Sprintf("%s peer %d seq %d tx %d seg %d", d.Type, d.Peer, d.Seq, d.TxID, d.SegNo)
}

// String returns one line about the packet: ack peer 1 seq 5 window 128.
func (a *Ack) String() string {
	return fmt.Sprintf("ack peer %d seq %d window %d", a.Peer, a.Seq, a.Window)
}

// String returns one line about the packet: rts addr 1 source 127.0.0.1:4711.
func (r *RTS) String() string { return fmt.Sprintf("rts addr %d source %s", r.RTSAddr, r.Source) }

// String returns one line about the packet: cts rts_addr 1 cts_addr 2.
func (c *CTS) String() string {
	return fmt.Sprintf("cts rts_addr %d cts_addr %d", c.RTSAddr, c.CTSAddr)
}

// String returns one line about the block: gfx1 conn 0x1 epoch 0x2 cookie 0x0 datagram 1472 window 1048576 features
// 0x1 nonce 0x3 up. With ExtDenied it ends in denied.
func (e Ext) String() string {
	s := fmt.Sprintf("gfx1 conn %#x epoch %#x cookie %#x datagram %d window %d features %#x nonce %#x",
		e.ConnID, e.Epoch, e.Cookie, e.MaxDatagram, e.Window, uint64(e.Features), e.Nonce)
	if e.Flags&ExtUp != 0 {
		s += " up"
	}
	if e.Flags&ExtDenied != 0 {
		s += " denied"
	}
	return s
}

// String returns one line about the header: data conn 0x1 off 1440 ack 0 window 1048576 time 17 echo 0.
func (h *XHeader) String() string {
	b := fmt.Appendf(nil, "%s conn %#x off %d ack %d window %d time %d echo %d",
		h.Type, h.ConnID, h.Offset, h.Ack, h.Window, h.Time, h.Echo)
	if h.AckDelay != 0 {
		b = fmt.Appendf(b, " delay %dus", int(h.AckDelay)*8)
	}
	if h.Flags != 0 {
		b = fmt.Appendf(b, " flags %s", h.Flags)
	}
	for _, r := range h.SACK[:min(h.NSACK, MaxSACK)] {
		b = fmt.Appendf(b, " [%d-%d)", r.Start, r.End)
	}
	return string(b)
}
