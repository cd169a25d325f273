package wire

// Ref is an ExtRef or, with a seal, an ExtSealed: it announces a message whose payload stays with the sender until
// it is fetched.
type Ref struct {
	Index   uint8 // as in OpTagRTS
	Tagged  bool
	HasData bool
	Match   bool  // copy it when it is matched, not before (FI_MATCH_COMPLETE)
	Coll    bool  // a step of a collective operation: Tag and CQData as in OpColl
	N       uint8 // ranges in IOV
	Tag     uint64
	CQData  uint64
	Size    uint64
	SealAt  uint64           // address of the seal; 0: the message has none
	Number  uint64           // of the message, which its seal contains; never 0 with a seal
	IOV     [IOVLimit]RMAIov // Key is not used
}

// Lengths in bytes, and flag bits.
const (
	refLen     = 32
	sealedLen  = refLen + 16
	refTagged  = 1
	refHasData = 2
	refMatch   = 4
	refColl    = 8
)

// Append appends the encoded message to b.
func (r *Ref) Append(b []byte) []byte {
	kind, flags := ExtRef, byte(0)
	if r.SealAt != 0 {
		kind = ExtSealed
	}
	if r.Tagged {
		flags |= refTagged
	}
	if r.HasData {
		flags |= refHasData
	}
	if r.Match {
		flags |= refMatch
	}
	if r.Coll {
		flags |= refColl
	}
	b = append(b, byte(kind), r.Index, flags, r.N, 0, 0, 0, 0)
	b = le.AppendUint64(b, r.Tag)
	b = le.AppendUint64(b, r.CQData)
	b = le.AppendUint64(b, r.Size)
	if r.SealAt != 0 {
		b = le.AppendUint64(b, r.SealAt)
		b = le.AppendUint64(b, r.Number)
	}
	for _, v := range r.IOV[:r.N] {
		b = le.AppendUint64(b, v.Addr)
		b = le.AppendUint64(b, v.Len)
	}
	return b
}

// Parse reads an ExtRef or an ExtSealed. The ranges add up to Size.
func (r *Ref) Parse(b []byte) error {
	if len(b) < refLen {
		return ErrShort
	}
	flags := b[2]
	*r = Ref{
		Index: b[1], N: b[3], Tagged: flags&refTagged != 0, HasData: flags&refHasData != 0,
		Match: flags&refMatch != 0, Coll: flags&refColl != 0,
	}
	if r.N > IOVLimit {
		return ErrIOV
	}
	r.Tag, r.CQData, r.Size = le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])
	if ExtKind(b[0]) == ExtSealed {
		if len(b) < sealedLen {
			return ErrShort
		}
		if r.SealAt, r.Number = le.Uint64(b[32:]), le.Uint64(b[40:]); r.SealAt == 0 || r.Number == 0 {
			return ErrSeal
		}
		b = b[sealedLen-refLen:]
	}
	if b = b[refLen:]; len(b) < int(r.N)*16 {
		return ErrShort
	}
	total := uint64(0)
	for i := range r.IOV[:r.N] {
		v := &r.IOV[i]
		v.Addr, v.Len = le.Uint64(b), le.Uint64(b[8:])
		b = b[16:]
		if v.Len > MaxSize || total+v.Len > MaxSize {
			return ErrIOV
		}
		total += v.Len
	}
	if total != r.Size {
		return ErrIOV
	}
	return nil
}
