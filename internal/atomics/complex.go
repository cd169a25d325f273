package atomics

// complexes executes op on complex numbers, which have no order.
func complexes[T complex64 | complex128](op Op, target, operand, compare []byte) {
	if aligned[T](target, operand, compare) {
		unordered(op, view[T](target), view[T](operand), view[T](compare))
		return
	}
	var x scratch[T]
	for at := 0; at < len(target); {
		d, s, c := x.load(at, target, operand, compare)
		unordered(op, d, s, c)
		at = x.store(at, target, d)
	}
}

// unordered has the operations of complex numbers.
func unordered[T complex64 | complex128](op Op, d, s, c []T) {
	for i := range d {
		switch op {
		case Sum:
			d[i] += s[i]
		case Prod:
			d[i] *= s[i]
		case Diff:
			d[i] -= s[i]
		case LOr, LAnd, LXor:
			d[i] = truth[T](op, d[i] != 0, s[i] != 0)
		case CSwapNE:
			if c[i] != d[i] {
				d[i] = s[i]
			}
		}
	}
}
