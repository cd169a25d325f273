package wire

import "strconv"

// Verdicts report the result of a remote memory access to its initiator (FeatureVerdicts). The writes of one
// direction, OpWrite and OpAtomic, are numbered from 0 in the order of the stream, modulo 2^32. docs/wire/tcp.md,
// "Verdicts", has the rules.

// The kinds of OpExt that are verdicts.
const (
	ExtAccepted    ExtKind = 13 // all writes with a lower number and without a verdict are in place
	ExtRefused     ExtKind = 14 // the write with this number was refused; memory is unchanged
	ExtReadRefused ExtKind = 15 // the oldest OpReadReq, OpAtomicFetch or OpAtomicCompare without an answer was refused
)

// VerdictLen is the length of a verdict, in bytes. AcceptedAt is the offset of the number in an ExtAccepted.
const (
	VerdictLen = 8
	AcceptedAt = 4
)

// Refusal says why a target refuses an access to its memory; 0: it does not.
type Refusal uint8

const (
	RefusedKey     Refusal = 1 // no open region has the key
	RefusedRights  Refusal = 2 // the region was not registered for this access
	RefusedRange   Refusal = 3 // the region does not contain all of the range
	RefusedPersist Refusal = 4 // the region could not be made persistent
	RefusedOp      Refusal = 5 // the target does not have this atomic operation on this type
)

var refusalNames = [...]string{"accepted", "key", "rights", "range", "persist", "op"}

// String returns one word, or refusal(N) for an unknown one.
func (r Refusal) String() string {
	if int(r) < len(refusalNames) {
		return refusalNames[r]
	}
	return "refusal(" + strconv.Itoa(int(r)) + ")"
}

// Verdict is a decoded verdict.
type Verdict struct {
	Kind    ExtKind
	Why     Refusal // of a refusal
	Segment uint8   // of a refusal: the RMA segment that was wrong
	Number  uint32  // ExtAccepted: of the first write that it does not cover; ExtRefused: of the write
}

// Append appends the encoded message to b.
func (v *Verdict) Append(b []byte) []byte {
	return le.AppendUint32(append(b, byte(v.Kind), byte(v.Why), v.Segment, 0), v.Number)
}

// ParseVerdict reads a verdict. A refusal has a reason, and names one of at most IOVLimit segments.
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

// IsVerdict reports whether k is the kind of a verdict.
func (k ExtKind) IsVerdict() bool { return k >= ExtAccepted && k <= ExtReadRefused }
