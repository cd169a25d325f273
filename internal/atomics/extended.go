package atomics

import (
	"encoding/binary"
	"math/bits"
)

// extended is a number in the x87's format of 80 bits, which is C's long double on x86: 15 bits of exponent, 64 of mantissa with the first of them written
// down. Go has no such type, so the arithmetic is done here, rounded to the nearest, ties to even. In memory it takes 16 bytes, of which the last 6 are
// padding and left alone. FI_LONG_DOUBLE is this on all machines.
type extended struct {
	neg bool
	exp int    // biased; numbers below the normal ones have 1
	m   uint64 // below the normal ones, the first bit is clear
}

const (
	extSize = 16 // in memory
	extUsed = 10 // thereof
	extBias = 16383
	extMax  = 0x7fff // the exponent of infinities, whose mantissa is only the first bit, and of NaNs
	extTop  = uint64(1) << 63
)

// The numbers that operations need.
var (
	extNaN = extended{neg: true, exp: extMax, m: 3 << 62} // as the processor makes it
	extOne = extended{exp: extBias, m: extTop}
)

func loadExt(b []byte) extended {
	m, se := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint16(b[8:])
	x := extended{neg: se>>15 != 0, exp: int(se & extMax), m: m}
	switch {
	case x.exp == 0:
		x.exp = 1
	case m < extTop: // no number has this form
		return extNaN
	}
	return x
}

func (x extended) store(b []byte) {
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

func (x extended) nan() bool  { return x.exp == extMax && x.m != extTop }
func (x extended) inf() bool  { return x.exp == extMax && x.m == extTop }
func (x extended) zero() bool { return x.m == 0 }

func (x extended) minus() extended {
	x.neg = !x.neg
	return x
}

// less compares; with a NaN nothing is less, nor equal.
func (x extended) less(y extended) bool {
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

func (x extended) equal(y extended) bool {
	return !x.nan() && !y.nan() && (x.zero() && y.zero() || x == y)
}

// rounded returns the number nearest to hi.lo, in units of which hi's first bit is worth 2 to the exp, biased. The last bit of lo stands for all behind it.
func rounded(neg bool, exp int, hi, lo uint64) extended {
	if hi|lo == 0 {
		return extended{neg: neg, exp: 1}
	}
	if n := bits.LeadingZeros64(hi); n == 64 {
		n = bits.LeadingZeros64(lo)
		hi, lo, exp = lo<<n, 0, exp-64-n
	} else {
		hi, lo, exp = hi<<n|lo>>(64-n), lo<<n, exp-n
	}
	if exp < 1 {
		hi, lo = shiftRight(hi, lo, 1-exp)
		exp = 1
	}
	if lo > extTop || lo == extTop && hi&1 != 0 {
		if hi++; hi == 0 {
			hi, exp = extTop, exp+1
		}
	}
	if exp >= extMax {
		hi, exp = extTop, extMax
	}
	return extended{neg: neg, exp: exp, m: hi}
}

// shiftRight shifts hi.lo; the last bit remembers what falls out.
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

func (x extended) add(y extended) extended {
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

func (x extended) mul(y extended) extended {
	neg := x.neg != y.neg
	switch {
	case x.nan():
		return x
	case y.nan():
		return y
	case x.inf() && y.zero(), x.zero() && y.inf():
		return extNaN
	case x.inf() || y.inf():
		return extended{neg, extMax, extTop}
	}
	hi, lo := bits.Mul64(x.m, y.m)
	return rounded(neg, x.exp+y.exp-extBias+1, hi, lo)
}

// extendeds does op on long doubles.
func extendeds(op Op, target, operand, compare []byte) {
	for at := 0; at < len(target); at += extSize {
		d, s := loadExt(target[at:]), loadExt(operand[at:])
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
		var c extended
		if compare != nil {
			c = loadExt(compare[at:])
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

// extTruth is a logical result as a number.
func extTruth(op Op, a, b bool) extended {
	if logical(op, a, b) {
		return extOne
	}
	return extended{exp: 1}
}

// complexExtendeds does op on complex long doubles.
func complexExtendeds(op Op, target, operand, compare []byte) {
	for at := 0; at < len(target); at += 2 * extSize {
		d, s := target[at:at+2*extSize], operand[at:]
		dr, di, sr, si := loadExt(d), loadExt(d[extSize:]), loadExt(s), loadExt(s[extSize:])
		switch op {
		case Sum:
			dr, di = dr.add(sr), di.add(si)
		case Diff:
			dr, di = dr.add(sr.minus()), di.add(si.minus())
		case Prod:
			dr, di = dr.mul(sr).add(di.mul(si).minus()), dr.mul(si).add(di.mul(sr))
		case LOr, LAnd, LXor:
			dr, di = extTruth(op, !dr.zero() || !di.zero(), !sr.zero() || !si.zero()), extended{exp: 1}
		case CSwapNE:
			c := compare[at:]
			if !dr.equal(loadExt(c)) || !di.equal(loadExt(c[extSize:])) {
				copy(d[:extUsed], s)
				copy(d[extSize:extSize+extUsed], s[extSize:])
			}
			continue
		}
		dr.store(d)
		di.store(d[extSize:])
	}
}
