package atomics

// Op is an atomic operation. The numbers are those of enum fi_op.
type Op uint8

// The operations, in the order of fi_atomic(3).
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

// Kind is the group of calls that an operation belongs to.
type Kind uint8

const (
	Base        Kind = iota // fi_atomic: changes the target
	FetchKind               // fi_fetch_atomic: also returns the previous value
	CompareKind             // fi_compare_atomic: changes the target if a comparison holds, and returns the previous value
)

// Valid reports whether calls of kind k take the operation on the type. The rules are those of libfabric's
// prov/util/src/util_atomic.c. That file does not have Diff and the floating-point types of 16 and 8 bits, nor, if
// the compiler has no 16-byte locks, the 128-bit integers; here they follow the rules of similar types.
func Valid(k Kind, dt Datatype, op Op) bool {
	if Size(dt) == 0 || op >= numOps {
		return false
	}
	if swap := op >= CSwap && op <= MSwap; swap != (k == CompareKind) || k > CompareKind {
		return false
	}
	switch op {
	// Complex numbers have no order.
	case Min, Max, CSwapLE, CSwapLT, CSwapGE, CSwapGT:
		return !isComplex(dt)
	// Only integers have bits.
	case BOr, BAnd, BXor, MSwap:
		return isInt(dt)
	case Read:
		return k == FetchKind
	}
	return true
}
