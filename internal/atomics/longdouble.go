package atomics

import (
	"encoding/binary"
	"math/bits"
)

// longDouble is a number in the x87's 80-bit format, which is C's long double on x86: 15 bits of exponent and 64 of
// mantissa with an explicit first bit (Intel SDM, volume 1, 4.2.2). Go has no such type, so the arithmetic is done
// here, rounded to the nearest, ties to even. In memory it takes 16 bytes; the last 6 are padding and never
// changed. FI_LONG_DOUBLE is this type on all machines.
type longDouble struct {
	neg bool
	exp int    // biased; 1 for subnormal numbers
	m   uint64 // subnormal numbers have a clear first bit
}

// The parts of the format.
const (
	extSize = 16              // bytes in memory
	extUsed = 10              // bytes without padding
	extBias = 16383           // of the exponent
	extMax  = 0x7fff          // exponent of infinities, whose mantissa is extTop, and of NaNs
	extTop  = uint64(1) << 63 // first bit of the mantissa
)

// Numbers that operations return.
var (
	extNaN = longDouble{neg: true, exp: extMax, m: 3 << 62} // the processor's "real indefinite"
	extOne = longDouble{exp: extBias, m: extTop}
)

// loadLongDouble reads a number.
func loadLongDouble(b []byte) longDouble {
	m, se := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint16(b[8:])
	x := longDouble{neg: se>>15 != 0, exp: int(se & extMax), m: m}
	switch {
	case x.exp == 0:
		x.exp = 1
	case m < extTop: // an unnormal, which the processor refuses as invalid
		return extNaN
	}
	return x
}

// store writes a number, without the padding.
func (x longDouble) store(b []byte) {
	se := uint16(x.exp)
	if x.m < extTop {
		se = 0
	}
	if x.neg {
		se |= 1 << 15
	}
	binary.LittleEndian.PutUint64(b, x.m)
	binary.LittleEndian.PutUint16(b[8:], se)
}

// nan, inf and zero classify a number.
func (x longDouble) nan() bool  { return x.exp == extMax && x.m != extTop }
func (x longDouble) inf() bool  { return x.exp == extMax && x.m == extTop }
func (x longDouble) zero() bool { return x.m == 0 }

// minus returns -x.
func (x longDouble) minus() longDouble {
	x.neg = !x.neg
	return x
}

// less reports whether x < y, which is false if one is a NaN. -0 and 0 are equal.
func (x longDouble) less(y longDouble) bool {
	switch {
	case x.nan() || y.nan() || x.zero() && y.zero():
		return false
	case x.neg != y.neg:
		return x.neg
	case x.neg:
		x, y = y, x
	}
	return x.exp < y.exp || x.exp == y.exp && x.m < y.m
}

// equal reports whether x == y, which is false if one is a NaN.
func (x longDouble) equal(y longDouble) bool {
	return !x.nan() && !y.nan() && (x.zero() && y.zero() || x == y)
}

// rounded returns the number nearest to the mantissa hi.lo, whose first bit is worth 2 to the exp, biased. The last
// bit of lo stands for all bits behind it (sticky bit).
func rounded(neg bool, exp int, hi, lo uint64) longDouble {
	if hi|lo == 0 {
		return longDouble{neg: neg, exp: 1}
	}
	if n := bits.LeadingZeros64(hi); n == 64 {
		n = bits.LeadingZeros64(lo)
		hi, lo, exp = lo<<n, 0, exp-64-n
	} else {
		hi, lo, exp = hi<<n|lo>>(64-n), lo<<n, exp-n
	}
	// The result is subnormal.
	if exp < 1 {
		hi, lo = shiftRight(hi, lo, 1-exp)
		exp = 1
	}
	if lo > extTop || lo == extTop && hi&1 != 0 {
		if hi++; hi == 0 {
			hi, exp = extTop, exp+1
		}
	}
	// Too large: infinity.
	if exp >= extMax {
		hi, exp = extTop, extMax
	}
	return longDouble{neg: neg, exp: exp, m: hi}
}

// shiftRight shifts hi.lo by n bits. The last bit is set if any bit that falls out was set.
func shiftRight(hi, lo uint64, n int) (uint64, uint64) {
	lost := uint64(0)
	if n >= 64 {
		if lo != 0 {
			lost = 1
		}
		hi, lo, n = 0, hi, n-64
	}
	if n >= 64 {
		if hi|lo != 0 {
			lost = 1
		}
		return 0, lost
	}
	if lo&(1<<n-1) != 0 {
		lost = 1
	}
	return hi >> n, lo>>n | hi<<(64-n) | lost
}

// add returns x + y.
func (x longDouble) add(y longDouble) longDouble {
	switch {
	case x.nan():
		return x
	case y.nan():
		return y
	case x.inf() && y.inf() && x.neg != y.neg:
		return extNaN
	case x.inf():
		return x
	case y.inf():
		return y
	}
	if x.exp < y.exp || x.exp == y.exp && x.m < y.m {
		x, y = y, x
	}
	hi, lo := shiftRight(y.m, 0, x.exp-y.exp)
	if x.neg == y.neg {
		sum, carry := bits.Add64(x.m, hi, 0)
		if carry == 0 {
			return rounded(x.neg, x.exp, sum, lo)
		}
		sum, lo = shiftRight(sum, lo, 1)
		return rounded(x.neg, x.exp+1, sum|extTop, lo)
	}
	lo, borrow := bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(x.m, hi, borrow)
	return rounded(x.neg && hi|lo != 0, x.exp, hi, lo) // a difference of 0 is positive
}

// mul returns x * y.
func (x longDouble) mul(y longDouble) longDouble {
	neg := x.neg != y.neg
	switch {
	case x.nan():
		return x
	case y.nan():
		return y
	case x.inf() && y.zero(), x.zero() && y.inf():
		return extNaN
	case x.inf() || y.inf():
		return longDouble{neg, extMax, extTop}
	}
	hi, lo := bits.Mul64(x.m, y.m)
	return rounded(neg, x.exp+y.exp-extBias+1, hi, lo)
}

// longDoubles executes op on long doubles.
func longDoubles(op Op, target, operand, compare []byte) {
	for at := 0; at < len(target); at += extSize {
		d, s := loadLongDouble(target[at:]), loadLongDouble(operand[at:])
		switch op {
		case Sum:
			d.add(s).store(target[at:])
			continue
		case Prod:
			d.mul(s).store(target[at:])
			continue
		case Diff:
			d.add(s.minus()).store(target[at:])
			continue
		case LOr, LAnd, LXor:
			extTruth(op, !d.zero(), !s.zero()).store(target[at:])
			continue
		}
		var c longDouble
		if compare != nil {
			c = loadLongDouble(compare[at:])
		}
		holds := false
		switch op {
		case Min:
			holds = s.less(d)
		case Max:
			holds = d.less(s)
		case CSwapNE:
			holds = !c.equal(d)
		case CSwapLE:
			holds = c.less(d) || c.equal(d)
		case CSwapLT:
			holds = c.less(d)
		case CSwapGE:
			holds = d.less(c) || c.equal(d)
		case CSwapGT:
			holds = d.less(c)
		}
		if holds {
			copy(target[at:at+extUsed], operand[at:])
		}
	}
}

// extTruth is the result of a logical operation as a number, 1 or 0.
func extTruth(op Op, a, b bool) longDouble {
	if logical(op, a, b) {
		return extOne
	}
	return longDouble{exp: 1}
}

// complexLongDoubles executes op on complex long doubles.
func complexLongDoubles(op Op, target, operand, compare []byte) {
	for at := 0; at < len(target); at += 2 * extSize {
		d, s := target[at:at+2*extSize], operand[at:]
		dr, di, sr, si := loadLongDouble(d), loadLongDouble(d[extSize:]), loadLongDouble(s), loadLongDouble(s[extSize:])
		switch op {
		case Sum:
			dr, di = dr.add(sr), di.add(si)
		case Diff:
			dr, di = dr.add(sr.minus()), di.add(si.minus())
		case Prod:
			dr, di = dr.mul(sr).add(di.mul(si).minus()), dr.mul(si).add(di.mul(sr))
		case LOr, LAnd, LXor:
			dr, di = extTruth(op, !dr.zero() || !di.zero(), !sr.zero() || !si.zero()), longDouble{exp: 1}
		case CSwapNE:
			c := compare[at:]
			if !dr.equal(loadLongDouble(c)) || !di.equal(loadLongDouble(c[extSize:])) {
				copy(d[:extUsed], s)
				copy(d[extSize:extSize+extUsed], s[extSize:])
			}
			continue
		}
		dr.store(d)
		di.store(d[extSize:])
	}
}
