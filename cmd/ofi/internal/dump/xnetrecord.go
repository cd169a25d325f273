package dump

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"gofabric/internal/xnet/wire"
)

// This file turns decoded xnet messages into Records.

type cmFields struct {
	Type    string     `json:"type"`
	Order   string     `json:"order"`
	DataLen int        `json:"data_len"`
	Data    string     `json:"data,omitempty"` // hexadecimal
	RDM     *rdmFields `json:"rdm,omitempty"`
}

type rdmFields struct {
	Version  uint8  `json:"version"`
	Features uint8  `json:"features"`
	Port     uint16 `json:"port"`
	PID      uint32 `json:"pid"`
}

type headerFields struct {
	ID       uint8       `json:"id"`
	Flags    string      `json:"flags"`
	Size     uint64      `json:"size"`
	Header   uint8       `json:"header"`
	Payload  uint64      `json:"payload"`
	CQData   *hex64      `json:"cq_data,omitempty"`
	Tag      *hex64      `json:"tag,omitempty"`
	Context  *uint8      `json:"ctx,omitempty"`
	MsgSize  *uint64     `json:"msg_size,omitempty"`
	Segments []rmaFields `json:"segments,omitempty"`
	RXM      string      `json:"rxm,omitempty"` // the packet of ofi_rxm that is the payload
}

type rmaFields struct {
	Addr hex64  `json:"addr"`
	Len  uint64 `json:"len"`
	Key  hex64  `json:"key"`
}

// hex64 is a 64-bit word. It is a string in JSON, because JSON readers may have numbers of 53 bits.
type hex64 uint64

func (h hex64) MarshalText() ([]byte, error) {
	return strconv.AppendUint([]byte("0x"), uint64(h), 16), nil
}

func cmRecord(t time.Time, offset uint64, raw []byte, cm wire.CM) Record {
	op, text, _ := strings.Cut(cm.String(), " ")
	order, _, _ := strings.Cut(text, " ")
	f := &cmFields{Type: op, Order: order, DataLen: len(cm.Data), Data: hex.EncodeToString(cm.Data)}
	// RDM endpoints and applications of MSG endpoints both use the private data. A blob has a known size and a port
	// that an endpoint can have.
	if len(cm.Data) == wire.RDMBlobLen {
		if b, err := wire.ParseRDMBlob(cm.Data); err == nil && b.Port != 0 && b.Version&^wire.RDMVersionFlag <= maxRDMVersion {
			f.RDM = &rdmFields{Version: b.Version &^ wire.RDMVersionFlag, Features: b.Features, Port: b.Port, PID: b.PID}
			text += " (" + b.String() + ")"
		}
	}
	return Record{Time: t, Op: op, Text: text, Offset: offset, Header: slices.Clone(raw), Fields: f}
}

// maxRDMVersion is the highest version that identifies a blob.
const maxRDMVersion = 15

func headerRecord(t time.Time, offset uint64, raw []byte, h *wire.Header) Record {
	op, text, _ := strings.Cut(h.String(), " ")
	f := &headerFields{ID: h.ID, Flags: h.Flags.String(), Size: h.Size, Header: h.HdrLen, Payload: h.PayloadLen()}
	hasTag := h.Op == wire.OpTag || h.Op == wire.OpTagRTS || h.Op == wire.OpMsg && h.Flags&wire.FlagTagged != 0
	if hasTag {
		f.Tag = (*hex64)(&h.Tag)
	}
	if h.Flags&wire.FlagCQData != 0 && (h.Op <= wire.OpTag || h.Op == wire.OpWrite || h.Op == wire.OpTagRTS) {
		f.CQData = (*hex64)(&h.CQData)
	}
	switch h.Op {
	case wire.OpTagRTS:
		f.Context, f.MsgSize = &h.OpData, &h.MsgSize
	case wire.OpCTS, wire.OpData:
		f.Context = &h.OpData
	case wire.OpReadReq, wire.OpWrite:
		for _, v := range h.IOV[:min(h.IovCnt, wire.IOVLimit)] {
			f.Segments = append(f.Segments, rmaFields{hex64(v.Addr), v.Len, hex64(v.Key)})
		}
	}
	return Record{Time: t, Op: op, Text: text, Offset: offset, Header: slices.Clone(raw), Fields: f}
}
