package atomics

import "errors"

// Errors of Apply, Fetch and Compare. The target is not changed.
var (
	ErrOp   = errors.New("atomics: the operation is not defined for the datatype")
	ErrSize = errors.New("atomics: buffers of different or odd sizes")
)

// Apply executes op on every element of target (fi_atomic(3)). Target and operand have equal lengths, a multiple of
// Size(dt), and must not overlap.
func Apply(dt Datatype, op Op, target, operand []byte) error {
	if !Valid(Base, dt, op) {
		return ErrOp
	}
	if len(target) != len(operand) || len(target)%Size(dt) != 0 {
		return ErrSize
	}
	apply(dt, op, target, operand, nil)
	return nil
}

// Fetch copies target to result and then does what Apply does (fi_fetch_atomic(3)). Read has no operand. Result is
// as long as target, and must not overlap target or operand.
func Fetch(dt Datatype, op Op, target, operand, result []byte) error {
	if !Valid(FetchKind, dt, op) {
		return ErrOp
	}
	if op != Read && len(operand) != len(target) || len(result) != len(target) || len(target)%Size(dt) != 0 {
		return ErrSize
	}
	copy(result, target)
	if op != Read {
		apply(dt, op, target, operand, nil)
	}
	return nil
}

// Compare copies target to result, and stores operand into the elements for which the comparison of compare with
// the target holds (fi_compare_atomic(3)). MSwap stores the bits of operand that are set in compare. CSwap compares
// bits, as native does, so that a NaN can be swapped, too. The others compare values. All buffers have equal
// lengths and must not overlap.
func Compare(dt Datatype, op Op, target, operand, compare, result []byte) error {
	if !Valid(CompareKind, dt, op) {
		return ErrOp
	}
	if n := len(target); len(operand) != n || len(compare) != n || len(result) != n || n%Size(dt) != 0 {
		return ErrSize
	}
	copy(result, target)
	apply(dt, op, target, operand, compare)
	return nil
}

// apply changes target without checks. compare is nil if the operation has none.
func apply(dt Datatype, op Op, target, operand, compare []byte) {
	// These need no arithmetic.
	switch op {
	case Write:
		copy(target, operand)
		return
	case CSwap:
		swapBits(Size(dt), target, operand, compare)
		return
	}
	switch dt {
	case Int8:
		integers[int8](op, target, operand, compare)
	case Uint8:
		integers[uint8](op, target, operand, compare)
	case Int16:
		integers[int16](op, target, operand, compare)
	case Uint16:
		integers[uint16](op, target, operand, compare)
	case Int32:
		integers[int32](op, target, operand, compare)
	case Uint32:
		integers[uint32](op, target, operand, compare)
	case Int64:
		integers[int64](op, target, operand, compare)
	case Uint64:
		integers[uint64](op, target, operand, compare)
	case Float:
		floats[float32](op, target, operand, compare)
	case Double:
		floats[float64](op, target, operand, compare)
	case FloatComplex:
		complexes[complex64](op, target, operand, compare)
	case DoubleComplex:
		complexes[complex128](op, target, operand, compare)
	case LongDouble:
		longDoubles(op, target, operand, compare)
	case LongDoubleComplex:
		complexLongDoubles(op, target, operand, compare)
	case Int128, Uint128:
		int128s(op, dt == Int128, target, operand, compare)
	default:
		smallFloats(op, &smallFormats[dt-Float16], target, operand, compare)
	}
}
