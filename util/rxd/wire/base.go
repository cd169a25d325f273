package wire

// Base is the header of every native packet (struct rxd_base_hdr). Native leaves garbage in fields that a type does
// not use: in RTS and CTS in all but version and type, in ACK in the flags.
type Base struct {
	Type  Type
	Flags Flags
	Peer  uint32 // the sender's index at the receiver, from the receiver's RTS or CTS
	Seq   uint64 // number of the packet, per peer and direction; in ACK the next one expected
}

// ParseBase reads the header and checks version and type. After an error about these the header is returned, too.
func ParseBase(pkt []byte) (Base, error) {
	if len(pkt) < BaseLen {
		return Base{}, ErrShort
	}
	w := le.Uint64(pkt)
	b := Base{Type: Type(w >> 8), Flags: Flags(w >> 16), Peer: uint32(w >> 32), Seq: le.Uint64(pkt[8:])}
	if uint8(w) != Version {
		return b, ErrVersion
	}
	if !b.Type.Known() {
		return b, ErrType
	}
	return b, nil
}

// Append appends the encoded header to dst.
func (b Base) Append(dst []byte) []byte {
	dst = le.AppendUint64(dst, Version|uint64(b.Type)<<8|uint64(b.Flags)<<16|uint64(b.Peer)<<32)
	return le.AppendUint64(dst, b.Seq)
}

// PutPeerSeq writes index and sequence number into an encoded packet, for a sender that learns them after it has
// encoded the packet.
func PutPeerSeq(pkt []byte, peer uint32, seq uint64) {
	_ = pkt[BaseLen-1]
	le.PutUint32(pkt[4:], peer)
	le.PutUint64(pkt[8:], seq)
}
