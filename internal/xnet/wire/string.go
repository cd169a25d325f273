package wire

import (
	"fmt"
	"strconv"
)

// String returns one line about the header, for logs and ofi dump:
//
//	tag id 7 flags cq_data size 40 (32+8) cq_data 0xd0 tag 0x43
func (h *Header) String() string {
	b := make([]byte, 0, 128)
	name := h.Op.String()
	if h.Op == OpMsg && h.OpData == OpDataAck {
		name = "ack"
	}
	b = fmt.Appendf(b, "%s id %d", name, h.ID)
	if h.Flags != 0 {
		b = fmt.Appendf(b, " flags %s", h.Flags)
	}
	b = fmt.Appendf(b, " size %d (%d+%d)", h.Size, h.HdrLen, h.PayloadLen())
	if h.Flags&FlagCQData != 0 && (h.Op <= OpTag || h.Op == OpWrite || h.Op == OpTagRTS || h.Op.atomic()) {
		b = appendHex(append(b, " cq_data "...), h.CQData)
	}
	if h.Op == OpTag || h.Op == OpTagRTS || h.Op == OpTagCoalesced || h.Op == OpMsg && h.Flags&FlagTagged != 0 {
		b = appendHex(append(b, " tag "...), h.Tag)
	}
	if h.Op == OpColl {
		b = appendHex(append(b, " tag "...), h.Tag)
		b = appendHex(append(b, " member "...), h.CQData)
	}
	if h.Op.atomic() {
		b = fmt.Appendf(b, " type %d op %d", h.OpData, h.Atomic)
	}
	switch h.Op {
	case OpCoalesced, OpTagCoalesced:
		b = fmt.Appendf(b, " messages %d", int(h.OpData)|int(h.IovCnt)<<8)
	case OpTagRTS:
		b = fmt.Appendf(b, " ctx %d msg %d", h.OpData, h.MsgSize)
	case OpCTS, OpData:
		b = fmt.Appendf(b, " ctx %d", h.OpData)
	case OpReadReq, OpWrite, OpAtomic, OpAtomicFetch, OpAtomicCompare:
		for _, v := range h.IOV[:min(h.IovCnt, IOVLimit)] {
			b = fmt.Appendf(b, " [0x%x+%d key 0x%x]", v.Addr, v.Len, v.Key)
		}
	}
	return string(b)
}

// appendHex appends v in hexadecimal.
func appendHex(b []byte, v uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), v, 16)
}

// String returns one line about the message: connreq little data 8.
func (cm CM) String() string {
	order := "order unknown"
	switch {
	case cm.SwapNeeded:
		order = Big.String()
	case cm.OrderMark == orderMark:
		order = Little.String()
	case cm.Type == CMReject:
		order = "-"
	}
	return fmt.Sprintf("%s %s data %d", cm.Type, order, len(cm.Data))
}

// String returns one line about the blob: rdm v1 checked port 17226 pid 4711.
func (r RDMBlob) String() string {
	s := "rdm v" + strconv.Itoa(int(r.Version&^RDMVersionFlag))
	if r.Version&RDMVersionFlag != 0 {
		s += " checked"
	}
	if r.Features != 0 {
		s += fmt.Sprintf(" features 0x%x", r.Features)
	}
	return s + fmt.Sprintf(" port %d pid %d", r.Port, r.PID)
}
