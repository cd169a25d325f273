package dump

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gofabric/util/rxd/wire"
)

// This file turns decoded rxd packets into Records.

var (
	errChecksum = errors.New("rxd: the checksum is wrong")
	errCut      = errors.New("rxd: the header was not captured whole")
)

// rxdFields has the fields of any packet. Fields that a packet does not have are absent.
type rxdFields struct {
	Peer     *uint32     `json:"peer,omitempty"`
	Seq      *uint64     `json:"seq,omitempty"`
	Flags    string      `json:"flags,omitempty"`
	Tag      *hex64      `json:"tag,omitempty"`
	CQData   *hex64      `json:"cq_data,omitempty"`
	Size     *uint64     `json:"size,omitempty"`
	Segs     *uint64     `json:"segs,omitempty"`
	TxID     *uint32     `json:"tx,omitempty"`
	SegNo    *uint64     `json:"seg,omitempty"`
	Segments []rmaFields `json:"segments,omitempty"`
	Datatype *uint32     `json:"datatype,omitempty"`
	AtomOp   *uint32     `json:"atomic_op,omitempty"`
	Window   *uint32     `json:"window,omitempty"`
	RTSAddr  *uint64     `json:"rts_addr,omitempty"`
	CTSAddr  *uint64     `json:"cts_addr,omitempty"`
	Source   string      `json:"source,omitempty"`
	Ext      *extFields  `json:"ext,omitempty"`
	X        *xFields    `json:"x,omitempty"`
	Payload  int         `json:"payload"`
}

type extFields struct {
	ConnID      hex64  `json:"conn"`
	Epoch       hex64  `json:"epoch"`
	Cookie      hex64  `json:"cookie"`
	MaxDatagram uint32 `json:"max_datagram"`
	Window      uint32 `json:"window"`
	Features    hex64  `json:"features"`
	Nonce       hex64  `json:"nonce"`
	Flags       uint8  `json:"flags"`
}

type xFields struct {
	ConnID hex64       `json:"conn"`
	Offset uint64      `json:"offset"`
	Ack    uint64      `json:"ack"`
	Window uint32      `json:"window"`
	Time   uint32      `json:"time"`
	Echo   uint32      `json:"echo"`
	Delay  int         `json:"ack_delay_us,omitempty"`
	SACK   [][2]uint64 `json:"sack,omitempty"`
}

func (f *rxdFields) base(b *wire.Base) {
	f.Peer, f.Seq = &b.Peer, &b.Seq
	if b.Type != wire.TypeAck { // the field has no meaning there
		f.Flags = b.Flags.String()
	}
}

func (f *rxdFields) op(p *wire.Op) {
	f.base(&p.Base)
	if p.HasTag() {
		f.Tag = (*hex64)(&p.Tag)
	}
	if p.HasCQData() {
		f.CQData = (*hex64)(&p.CQData)
	}
	if p.HasSAR() {
		f.Size, f.Segs, f.TxID = &p.SAR.Size, &p.SAR.NumSegs, &p.SAR.TxID
	}
	for _, v := range p.RMA[:p.NRMA] {
		f.Segments = append(f.Segments, rmaFields{hex64(v.Addr), v.Len, hex64(v.Key)})
	}
	if p.Type.HasAtom() {
		f.Datatype, f.AtomOp = &p.AtomDatatype, &p.AtomOp
	}
}

func (f *rxdFields) data(p *wire.Data) {
	f.base(&p.Base)
	f.TxID, f.SegNo = &p.TxID, &p.SegNo
}

func (f *rxdFields) ack(p *wire.Ack) {
	f.base(&p.Base)
	w := uint32(p.Window)
	f.Window = &w
}

func (f *rxdFields) rts(p *wire.RTS) { f.RTSAddr, f.Source = &p.RTSAddr, p.Source.String() }

func (f *rxdFields) cts(p *wire.CTS) { f.RTSAddr, f.CTSAddr = &p.RTSAddr, &p.CTSAddr }

func (f *rxdFields) ext(e wire.Ext) {
	f.Ext = &extFields{hex64(e.ConnID), hex64(e.Epoch), hex64(e.Cookie), e.MaxDatagram, e.Window, hex64(e.Features), hex64(e.Nonce), e.Flags}
}

func (f *rxdFields) extension(h *wire.XHeader) {
	f.Flags = h.Flags.String()
	f.X = &xFields{ConnID: hex64(h.ConnID), Offset: h.Offset, Ack: h.Ack, Window: h.Window, Time: h.Time, Echo: h.Echo, Delay: 8 * int(h.AckDelay)}
	for _, r := range h.SACK[:h.NSACK] {
		f.X.SACK = append(f.X.SACK, [2]uint64{r.Start, r.End})
	}
}

// record returns a Record. text begins with the operation.
func (f *rxdFields) record(d Datagram, header int, text string) (Record, error) {
	if header > d.Captured {
		return Record{}, errCut
	}
	f.Payload = len(d.Bytes) - header
	op, text, _ := strings.Cut(text, " ")
	if f.Payload > 0 {
		text += fmt.Sprintf(" payload %d", f.Payload)
	}
	return Record{Op: op, Text: text, Header: slices.Clone(d.Bytes[:header]), Payload: d.Bytes[header:d.Captured], Fields: f}, nil
}
