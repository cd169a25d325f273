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
	if aligned(alignment(dt), target, operand, compare) {
		compute(dt, op, target, operand, compare)
		return
	}
	var x scratch
	for at := 0; at < len(target); {
		var c []byte
		if compare != nil {
			c = x.load(2, compare[at:])
		}
		d := x.load(0, target[at:])
		compute(dt, op, d, x.load(1, operand[at:]), c)
		at += copy(target[at:], d)
	}
}

// compute has the operations with arithmetic, on aligned memory.
func compute(dt Datatype, op Op, target, operand, compare []byte) {
	switch dt {
	case Int8:
		bitwise(op, view[int8](target), view[int8](operand), view[int8](compare))
	case Uint8:
		bitwise(op, view[uint8](target), view[uint8](operand), view[uint8](compare))
	case Int16:
		bitwise(op, view[int16](target), view[int16](operand), view[int16](compare))
	case Uint16:
		bitwise(op, view[uint16](target), view[uint16](operand), view[uint16](compare))
	case Int32:
		bitwise(op, view[int32](target), view[int32](operand), view[int32](compare))
	case Uint32:
		bitwise(op, view[uint32](target), view[uint32](operand), view[uint32](compare))
	case Int64:
		bitwise(op, view[int64](target), view[int64](operand), view[int64](compare))
	case Uint64:
		bitwise(op, view[uint64](target), view[uint64](operand), view[uint64](compare))
	case Float:
		ordered(op, view[float32](target), view[float32](operand), view[float32](compare))
	case Double:
		ordered(op, view[float64](target), view[float64](operand), view[float64](compare))
	case FloatComplex:
		unordered(op, view[complex64](target), view[complex64](operand), view[complex64](compare))
	case DoubleComplex:
		unordered(op, view[complex128](target), view[complex128](operand), view[complex128](compare))
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
