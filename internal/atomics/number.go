package atomics

// Operations on types that Go has. Buffers are used as slices of the type: the loops are as fast as the compiler makes
// them, and each element is stored in one piece. Of buffers that are not aligned, some elements at a time are copied to
// aligned memory and back (scratch).

// integer has the integer types of up to 64 bits.
type integer interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64
}

// float has the floating-point types of Go.
type float interface{ float32 | float64 }

// bitwise has the operations of integers only, and calls ordered for the others. d is the target, s the operand, c
// what to compare with.
func bitwise[T integer](op Op, d, s, c []T) {
	switch s := s[:len(d)]; op {
	case BOr:
		for i := range d {
			d[i] |= s[i]
		}
	case BAnd:
		for i := range d {
			d[i] &= s[i]
		}
	case BXor:
		for i := range d {
			d[i] ^= s[i]
		}
	case MSwap:
		c = c[:len(d)]
		for i := range d {
			d[i] = s[i]&c[i] | d[i]&^c[i]
		}
	default:
		ordered(op, d, s, c)
	}
}

// ordered has the operations of all real numbers. As in C, a comparison with a NaN is false, and a NaN is true as a
// logical value.
func ordered[T integer | float](op Op, d, s, c []T) {
	switch s := s[:len(d)]; op {
	case Min:
		for i := range d {
			if s[i] < d[i] {
				d[i] = s[i]
			}
		}
	case Max:
		for i := range d {
			if s[i] > d[i] {
				d[i] = s[i]
			}
		}
	case Sum:
		for i := range d {
			d[i] += s[i]
		}
	case Prod:
		for i := range d {
			d[i] *= s[i]
		}
	case Diff:
		for i := range d {
			d[i] -= s[i]
		}
	case LOr, LAnd, LXor:
		for i := range d {
			d[i] = truth[T](op, d[i] != 0, s[i] != 0)
		}
	default:
		swapOrdered(op, d, s, c[:len(d)])
	}
}

// swapOrdered stores s if the comparison of c with d holds.
func swapOrdered[T integer | float](op Op, d, s, c []T) {
	for i := range d {
		var holds bool
		switch op {
		case CSwapNE:
			holds = c[i] != d[i]
		case CSwapLE:
			holds = c[i] <= d[i]
		case CSwapLT:
			holds = c[i] < d[i]
		case CSwapGE:
			holds = c[i] >= d[i]
		case CSwapGT:
			holds = c[i] > d[i]
		}
		if holds {
			d[i] = s[i]
		}
	}
}

// logical combines two logical values.
func logical(op Op, a, b bool) bool {
	switch op {
	case LOr:
		return a || b
	case LAnd:
		return a && b
	}
	return a != b
}

// truth is the result of a logical operation as a number, 1 or 0.
func truth[T element](op Op, a, b bool) T {
	if logical(op, a, b) {
		return 1
	}
	return 0
}
