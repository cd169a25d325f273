package atomics

// Op is an atomic operation, numbered as enum fi_op.
type Op uint8

// The operations.
const (
	Min Op = iota
	Max
	Sum
	Prod
	LOr
	LAnd
	BOr
	BAnd
	LXor
	BXor
	Read
	Write
	CSwap
	CSwapNE
	CSwapLE
	CSwapLT
	CSwapGE
	CSwapGT
	MSwap
	Diff
	numOps
)

// Kind is the family of calls that an operation is used with.
type Kind uint8

const (
	Base        Kind = iota // fi_atomic: changes the target
	FetchKind               // fi_fetch_atomic: and returns what was there
	CompareKind             // fi_compare_atomic: changes it if a comparison holds, and returns what was there
)

// Valid reports whether calls of kind k take the operation on the type. The rules are those of native's utility code, which knows neither Diff nor the
// floating types of 16 and 8 bits, and where the compiler has no locks of 16 bytes none that large: those are taken as their brothers are.
func Valid(k Kind, dt Datatype, op Op) bool {
	if Size(dt) == 0 || op >= numOps {
		return false
	}
	if swap := op >= CSwap && op <= MSwap; swap != (k == CompareKind) || k > CompareKind {
		return false
	}
	switch op {
	case Min, Max, CSwapLE, CSwapLT, CSwapGE, CSwapGT:
		return !isComplex(dt)
	case BOr, BAnd, BXor, MSwap:
		return isInt(dt)
	case Read:
		return k == FetchKind
	}
	return true
}
