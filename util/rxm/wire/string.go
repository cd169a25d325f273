package wire

import "fmt"

// String returns one line about the packet, for logs and ofi dump: segment tagged id 0x0 first no 0 of 16384 bytes,
// size 20000 tag 0x2.
func (p *Packet) String() string {
	b := fmt.Appendf(nil, "%s", p.Type)
	switch p.Type {
	case TypeEager, TypeSegment, TypeRndvReq:
		b = fmt.Appendf(b, " %s", p.Op)
		if p.Type != TypeEager {
			b = fmt.Appendf(b, " id %#x", p.MsgID)
		}
		if p.Type == TypeSegment {
			b = fmt.Appendf(b, " %s no %d of %d bytes,", p.Part, p.SegNo, p.SegSize)
		}
		b = fmt.Appendf(b, " size %d", p.Size)
		if p.Op == OpTagged {
			b = fmt.Appendf(b, " tag %#x", p.Tag)
		}
		if p.Flags&FlagCQData != 0 {
			b = fmt.Appendf(b, " cq_data %#x", p.Data)
		}
	case TypeAtomic:
		b = fmt.Appendf(b, " %s id %#x type %d op %d", p.Op, p.MsgID, p.Datatype, p.AtomOp)
	case TypeAtomicResp:
		b = fmt.Appendf(b, " %s id %#x status %d, %d bytes", p.Op, p.MsgID, p.Status, p.Result)
	case TypeCredit:
		b = fmt.Appendf(b, " %d", p.Credits)
	default:
		b = fmt.Appendf(b, " id %#x", p.MsgID)
	}
	for _, r := range p.Ranges[:min(int(p.N), RangesMax)] {
		b = fmt.Appendf(b, " {addr %#x len %d key %#x}", r.Addr, r.Len, r.Key)
	}
	return string(fmt.Appendf(b, " to %d", p.Conn))
}
