package atomics

import (
	"encoding/binary"
	"math"
)

// smallFormat is a floating-point type of 16 or 8 bits. Its numbers are converted to float32, which represents all
// of them exactly. Results are rounded to the nearest, ties to even. A number that is too large becomes an infinity
// or, if the type has none, a NaN (OCP 8-bit Floating Point Specification, non-saturating mode).
type smallFormat struct {
	size     int    // bytes
	mantissa int    // bits
	bias     int    // of the exponent
	infinity uint32 // its code; codes above are NaNs
	overflow uint32 // code of numbers that are too large
	nan      uint32 // code of a NaN
}

// smallFormats begins with Float16 (IEEE 754 binary16).
var smallFormats = [...]smallFormat{
	0:                    {2, 10, 15, 0x7c00, 0x7c00, 0x7e00},
	BFloat16 - Float16:   {2, 7, 127, 0x7f80, 0x7f80, 0x7fc0},
	Float8E4M3 - Float16: {1, 3, 7, 0x7f, 0x7f, 0x7f}, // no infinity, one NaN
	Float8E5M2 - Float16: {1, 2, 15, 0x7c, 0x7c, 0x7e},
}

// sign is the mask of the sign bit.
func (f *smallFormat) sign() uint32 { return 1 << (8*f.size - 1) }

// decode returns the number with this code.
func (f *smallFormat) decode(code uint32) float32 {
	abs := code &^ f.sign()
	var v float32
	switch exp := abs >> f.mantissa; {
	case abs > f.infinity || abs == f.nan:
		return float32(math.NaN())
	case abs == f.infinity:
		v = float32(math.Inf(1))
	// A subnormal number.
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
func (f *smallFormat) encode(v float32) uint32 {
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
	case bits>>23 == 0 && f.bias == 127: // subnormal in both types
		exp = 0
	case exp > 0:
		m |= uint32(exp) << 23
	default: // subnormal in this type only
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

// roundEven shifts m right by drop bits and rounds to the nearest, ties to even.
func roundEven(m uint32, drop int) uint32 {
	q, rest, half := m>>drop, m&(1<<drop-1), uint32(1)<<(drop-1)
	if rest > half || rest == half && q&1 != 0 {
		q++
	}
	return q
}

// load reads a code.
func (f *smallFormat) load(b []byte) uint32 {
	if f.size == 1 {
		return uint32(b[0])
	}
	return uint32(binary.NativeEndian.Uint16(b))
}

// store writes a code.
func (f *smallFormat) store(b []byte, code uint32) {
	if f.size == 1 {
		b[0] = byte(code)
		return
	}
	binary.NativeEndian.PutUint16(b, uint16(code))
}

// smallFloats executes op on numbers of a format.
func smallFloats(op Op, f *smallFormat, target, operand, compare []byte) {
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
			holds = op == CSwapNE && cv != dv || op == CSwapLE && cv <= dv || op == CSwapLT && cv < dv ||
				op == CSwapGE && cv >= dv || op == CSwapGT && cv > dv
		}
		if holds {
			f.store(target[at:], s)
		}
	}
}
