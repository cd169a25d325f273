package atomics

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// big returns x, which is finite.
func (x longDouble) big() *big.Float {
	f := new(big.Float).SetPrec(64).SetMode(big.ToNearestEven).SetUint64(x.m)
	f.SetMantExp(f, x.exp-extBias-63)
	if x.neg {
		f.Neg(f)
	}
	return f
}

// TestExtended: sums and products are rounded to the nearest number, also if operands differ in magnitude, cancel, or
// end in a tie.
func TestExtended(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	mantissa := func() uint64 {
		m := extTop | r.Uint64()
		switch r.IntN(4) {
		case 0:
			m &= ^uint64(0) << r.IntN(64)
		case 1:
			m |= 1<<r.IntN(64) - 1
		}
		return m | extTop
	}
	for range 200000 {
		x := longDouble{r.IntN(2) == 0, extBias + r.IntN(140) - 70, mantissa()}
		y := longDouble{r.IntN(2) == 0, x.exp + r.IntN(140) - 70, mantissa()}
		if r.IntN(8) == 0 {
			y.m = x.m + uint64(r.IntN(3)) - 1 | extTop
		}
		sum, prod := new(big.Float).SetPrec(64), new(big.Float).SetPrec(64)
		if got, want := x.add(y).big(), sum.Add(x.big(), y.big()); got.Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v, want %v", x, y, got, want)
		}
		if got, want := x.mul(y).big(), prod.Mul(x.big(), y.big()); got.Cmp(want) != 0 {
			t.Fatalf("%v * %v = %v, want %v", x, y, got, want)
		}
		if got, want := x.less(y), x.big().Cmp(y.big()) < 0; got != want {
			t.Fatalf("%v < %v: %v", x, y, got)
		}
		var b [extSize]byte
		if x.store(b[:]); loadLongDouble(b[:]) != x {
			t.Fatalf("%v came back as %v", x, loadLongDouble(b[:]))
		}
	}
}

// TestExtendedPadding: no operation except Write changes the padding.
func TestExtendedPadding(t *testing.T) {
	for op := range numOps {
		d, s, c := make([]byte, 2*extSize), make([]byte, 2*extSize), make([]byte, 2*extSize)
		for i := range d {
			d[i], s[i] = 0x3f, 0x40
		}
		switch {
		case op == Write || op == CSwap:
			continue
		case Valid(Base, LongDoubleComplex, op):
			_ = Apply(LongDoubleComplex, op, d, s)
		case Valid(CompareKind, LongDouble, op):
			_ = Compare(LongDouble, op, d, s, c, make([]byte, len(d)))
		}
		for i := range d {
			if i%extSize >= extUsed && d[i] != 0x3f {
				t.Errorf("op %d changed byte %d", op, i)
			}
		}
	}
}
