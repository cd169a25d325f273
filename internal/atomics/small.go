package atomics

import (
	"encoding/binary"
	"math"
)

// format is a floating type of 16 or 8 bits. Its numbers are computed with as float32, of which all of them are exact, and rounded to the nearest, ties to
// even. What is too large becomes an infinity, or, where there is none, a NaN (OCP 8-bit Floating Point Specification, non-saturating mode).
type format struct {
	size     int // bytes
	mantissa int // bits
	bias     int
	infinity uint32 // its code: beyond are the NaNs
	overflow uint32 // what too large a number becomes
	nan      uint32
}

var formats = [...]format{
	0:                    {2, 10, 15, 0x7c00, 0x7c00, 0x7e00},
	BFloat16 - Float16:   {2, 7, 127, 0x7f80, 0x7f80, 0x7fc0},
	Float8E4M3 - Float16: {1, 3, 7, 0x7f, 0x7f, 0x7f}, // no infinity, one NaN
	Float8E5M2 - Float16: {1, 2, 15, 0x7c, 0x7c, 0x7e},
}

// sign is the bit of the sign.
func (f *format) sign() uint32 { return 1 << (8*f.size - 1) }

// decode returns the number with this code.
func (f *format) decode(code uint32) float32 {
	abs := code &^ f.sign()
	var v float32
	switch exp := abs >> f.mantissa; {
	case abs > f.infinity || abs == f.nan:
		return float32(math.NaN())
	case abs == f.infinity:
		v = float32(math.Inf(1))
	case exp == 0:
		v = float32(math.Ldexp(float64(abs), 1-f.bias-f.mantissa))
	default:
		v = math.Float32frombits((exp+uint32(127-f.bias))<<23 | abs<<(23-f.mantissa)&(1<<23-1))
	}
	if code != abs {
		return -v
	}
	return v
}

// encode returns the code of the nearest number.
func (f *format) encode(v float32) uint32 {
	bits := math.Float32bits(v)
	sign := uint32(0)
	if bits>>31 != 0 {
		sign = f.sign()
	}
	bits &^= 1 << 31
	if v != v {
		return sign | f.nan
	}
	exp, m := int(bits>>23)-127+f.bias, bits&(1<<23-1)
	drop := 23 - f.mantissa
	switch {
	case bits>>23 == 0 && f.bias == 127: // below the normal numbers in both
		exp = 0
	case exp > 0:
		m |= uint32(exp) << 23
	default: // below the normal numbers
		m |= 1 << 23
		drop += 1 - exp
	}
	if drop > 30 {
		return sign
	}
	code := roundEven(m, drop)
	if code >= f.infinity {
		code = f.overflow
	}
	return sign | code
}

// roundEven shifts m right and rounds to the nearest, ties to even.
func roundEven(m uint32, drop int) uint32 {
	q, rest, half := m>>drop, m&(1<<drop-1), uint32(1)<<(drop-1)
	if rest > half || rest == half && q&1 != 0 {
		q++
	}
	return q
}

func (f *format) load(b []byte) uint32 {
	if f.size == 1 {
		return uint32(b[0])
	}
	return uint32(binary.NativeEndian.Uint16(b))
}

func (f *format) store(b []byte, code uint32) {
	if f.size == 1 {
		b[0] = byte(code)
		return
	}
	binary.NativeEndian.PutUint16(b, uint16(code))
}

// smalls does op on numbers of a format.
func smalls(op Op, f *format, target, operand, compare []byte) {
	for at := 0; at < len(target); at += f.size {
		s := f.load(operand[at:])
		dv, sv := f.decode(f.load(target[at:])), f.decode(s)
		holds := true
		switch op {
		case Min:
			holds = sv < dv
		case Max:
			holds = sv > dv
		case Sum:
			s = f.encode(dv + sv)
		case Prod:
			s = f.encode(dv * sv)
		case Diff:
			s = f.encode(dv - sv)
		case LOr, LAnd, LXor:
			s = f.encode(truth[float32](op, dv != 0, sv != 0))
		default:
			cv := f.decode(f.load(compare[at:]))
			holds = op == CSwapNE && cv != dv || op == CSwapLE && cv <= dv || op == CSwapLT && cv < dv || op == CSwapGE && cv >= dv || op == CSwapGT && cv > dv
		}
		if holds {
			f.store(target[at:], s)
		}
	}
}
