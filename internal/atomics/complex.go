package atomics

// unordered has the operations of complex numbers, which have no order.
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
