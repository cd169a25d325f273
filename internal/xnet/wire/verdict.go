package wire

import "strconv"

// Verdicts tell the sender of remote memory access what became of it (FeatureVerdicts). The writes of one direction, OpWrite and OpAtomic, are numbered from 0 in
// the order of the stream, modulo 2^32. See docs/wire/tcp.md.

// The kinds of OpExt that carry verdicts.
const (
	ExtAccepted    ExtKind = 13 // all writes with a lower number that have no verdict yet are in place
	ExtRefused     ExtKind = 14 // this write was refused, and left memory as it was
	ExtReadRefused ExtKind = 15 // the oldest OpReadReq, OpAtomicFetch or OpAtomicCompare without an answer was refused
)

// VerdictLen is the length of each of them, bytes; AcceptedAt is where the number is in an ExtAccepted.
const (
	VerdictLen = 8
	AcceptedAt = 4
)

// Refusal says why a target refuses an access to its memory; 0: it does not.
type Refusal uint8

const (
	RefusedKey     Refusal = 1 // no open region has the key
	RefusedRights  Refusal = 2 // the region was not registered for this access
	RefusedRange   Refusal = 3 // the region does not hold all of the range
	RefusedPersist Refusal = 4 // it could not be made persistent
	RefusedOp      Refusal = 5 // the target does not know this atomic operation on this type
)

var refusalNames = [...]string{"accepted", "key", "rights", "range", "persist", "op"}

// String is a word for it, or refusal(N) for an unknown one.
func (r Refusal) String() string {
	if int(r) < len(refusalNames) {
		return refusalNames[r]
	}
	return "refusal(" + strconv.Itoa(int(r)) + ")"
}

// Verdict is what one of them says.
type Verdict struct {
	Kind    ExtKind
	Why     Refusal // of a refusal
	Segment uint8   // of a refusal: which remote segment was wrong
	Number  uint32  // of ExtAccepted: of the first write that it does not cover; of ExtRefused: of the write
}

// Append appends the encoded message.
func (v *Verdict) Append(b []byte) []byte {
	return le.AppendUint32(append(b, byte(v.Kind), byte(v.Why), v.Segment, 0), v.Number)
}

// ParseVerdict reads one. A refusal has a reason, and names one of at most IOVLimit segments.
func ParseVerdict(b []byte) (v Verdict, err error) {
	if len(b) < VerdictLen {
		return Verdict{}, ErrShort
	}
	v = Verdict{Kind: ExtKind(b[0]), Number: le.Uint32(b[AcceptedAt:])}
	if v.Kind == ExtAccepted {
		return v, nil
	}
	if v.Kind != ExtRefused && v.Kind != ExtReadRefused {
		return Verdict{}, ErrOp
	}
	if v.Why, v.Segment = Refusal(b[1]), b[2]; v.Why == 0 {
		return Verdict{}, ErrOp
	}
	if v.Segment >= IOVLimit {
		return Verdict{}, ErrIOV
	}
	return v, nil
}

// IsVerdict reports whether k is one of the three.
func (k ExtKind) IsVerdict() bool { return k >= ExtAccepted && k <= ExtReadRefused }
