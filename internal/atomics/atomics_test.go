// This file tests every operation on every type against slow and simple arithmetic.

package atomics

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"testing"
)

var types = []Datatype{Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64, Float, Double, FloatComplex,
	DoubleComplex, Int128, Uint128, Float16, BFloat16, Float8E4M3, Float8E5M2}

var le = binary.LittleEndian // byte order of the machines that run these tests

// plainInt executes op on one integer.
func plainInt(op Op, dt Datatype, d, s, c []byte) []byte {
	size, signed := len(d), dt == Int128 || dt < Float && dt%2 == 0
	num := func(b []byte) *big.Int {
		r := make([]byte, size)
		for i := range b {
			r[size-1-i] = b[i]
		}
		v := new(big.Int).SetBytes(r)
		if signed && b[size-1]&0x80 != 0 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
		}
		return v
	}
	x, y := num(d), num(s)
	var z *big.Int
	truth := func(b bool) *big.Int {
		if b {
			return big.NewInt(1)
		}
		return big.NewInt(0)
	}
	keep := func(b bool) *big.Int {
		if b {
			return y
		}
		return x
	}
	cmp := 0
	if c != nil {
		cmp = num(c).Cmp(x)
	}
	z = new(big.Int)
	switch op {
	case Min:
		z = keep(y.Cmp(x) < 0)
	case Max:
		z = keep(y.Cmp(x) > 0)
	case Sum:
		z.Add(x, y)
	case Prod:
		z.Mul(x, y)
	case Diff:
		z.Sub(x, y)
	case LOr:
		z = truth(x.Sign() != 0 || y.Sign() != 0)
	case LAnd:
		z = truth(x.Sign() != 0 && y.Sign() != 0)
	case LXor:
		z = truth((x.Sign() != 0) != (y.Sign() != 0))
	case BOr:
		z.Or(x, y)
	case BAnd:
		z.And(x, y)
	case BXor:
		z.Xor(x, y)
	case Write:
		z = y
	case CSwap:
		z = keep(cmp == 0)
	case CSwapNE:
		z = keep(cmp != 0)
	case CSwapLE:
		z = keep(cmp <= 0)
	case CSwapLT:
		z = keep(cmp < 0)
	case CSwapGE:
		z = keep(cmp >= 0)
	case CSwapGT:
		z = keep(cmp > 0)
	case MSwap:
		m := num(c)
		z.Or(new(big.Int).And(y, m), new(big.Int).AndNot(x, m))
	}
	z = new(big.Int).And(z, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*size)), big.NewInt(1)))
	out := z.FillBytes(make([]byte, size))
	for i := range size / 2 {
		out[i], out[size-1-i] = out[size-1-i], out[i]
	}
	return out
}

// realFormat describes the parts of a floating-point type.
type realFormat struct{ exp, man, bias int }

var realFormats = map[Datatype]realFormat{Float: {8, 23, 127}, Double: {11, 52, 1023}, Float16: {5, 10, 15},
	BFloat16: {8, 7, 127}, Float8E4M3: {4, 3, 7}, Float8E5M2: {5, 2, 15}}

// value returns the number with a code.
func (f realFormat) value(dt Datatype, code uint64) float64 {
	m, e := code&(1<<f.man-1), int(code>>f.man)&(1<<f.exp-1)
	v := 0.0
	switch {
	case dt == Float8E4M3 && e == 15 && m == 7, dt != Float8E4M3 && e == 1<<f.exp-1 && m != 0:
		return math.NaN()
	case dt != Float8E4M3 && e == 1<<f.exp-1:
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(float64(m), 1-f.bias-f.man)
	default:
		v = math.Ldexp(float64(m|1<<f.man), e-f.bias-f.man)
	}
	if code>>(f.man+f.exp)&1 != 0 {
		v = -v
	}
	return v
}

func code(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return le.Uint64(w[:])
}

// plainReal returns the expected result for one floating-point number: a value, or one of the operands bit by bit.
func plainReal(op Op, dt Datatype, d, s, c []byte) (v float64, exact []byte) {
	f := realFormats[dt]
	x, y := f.value(dt, code(d)), f.value(dt, code(s))
	keep := func(b bool) (float64, []byte) {
		if b {
			return 0, s
		}
		return 0, d
	}
	z := 0.0
	if c != nil {
		z = f.value(dt, code(c))
	}
	truth := func(b bool) (float64, []byte) {
		if b {
			return 1, nil
		}
		return 0, nil
	}
	switch op {
	case Min:
		return keep(x > y)
	case Max:
		return keep(x < y)
	case Sum:
		return x + y, nil
	case Prod:
		return x * y, nil
	case Diff:
		return x - y, nil
	case LOr:
		return truth(x != 0 || y != 0)
	case LAnd:
		return truth(x != 0 && y != 0)
	case LXor:
		return truth((x != 0) != (y != 0))
	case Write:
		return keep(true)
	case CSwap:
		return keep(bytes.Equal(c, d))
	case CSwapNE:
		return keep(z != x)
	case CSwapLE:
		return keep(z <= x)
	case CSwapLT:
		return keep(z < x)
	case CSwapGE:
		return keep(z >= x)
	case CSwapGT:
		return keep(z > x)
	}
	panic("no such operation")
}

// nearest searches the codes of a small type for v.
func nearest(dt Datatype, v float64) uint64 {
	f := realFormats[dt]
	sign := uint64(0)
	if math.Signbit(v) {
		sign, v = 1<<(f.exp+f.man), -v
	}
	c := uint64(sort.Search(1<<(f.exp+f.man), func(c int) bool { return !(f.value(dt, uint64(c)) <= v) }))
	if c == 1<<(f.exp+f.man) || math.IsInf(v, 0) && dt != Float8E4M3 {
		c = 1<<(f.exp+f.man) - 1<<f.man + 1 // after infinity
	}
	below := f.value(dt, c-1)
	if math.IsInf(below, 0) {
		return c - 1 | sign
	}
	above := f.value(dt, c)
	if math.IsNaN(above) || math.IsInf(above, 0) {
		above = 2*below - f.value(dt, c-2) // the value of the next code, if it were a number
	}
	if half := (below + above) / 2; v < half || v == half && c%2 == 1 {
		c--
	}
	return c | sign
}

// operands returns n elements, many of them special values.
func operands(r *rand.Rand, dt Datatype, n int) []byte {
	b := make([]byte, n*Size(dt))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	part := Size(dt)
	if isComplex(dt) {
		part /= 2
	}
	for at := 0; at < len(b); at += part {
		e := b[at : at+part]
		switch r.IntN(6) {
		case 0:
			clear(e)
		case 1:
			clear(e)
			e[0] = byte(r.IntN(4))
		case 2:
			for i := range e {
				e[i] = 0xff
			}
		case 3:
			clear(e)
			e[part-1] = 0x80 // the lowest integer, -0
		case 4:
			if part >= 4 && !isInt(dt) { // numbers of similar magnitude
				v := float64(r.IntN(9)-4) / 2
				if part == 4 {
					le.PutUint32(e, math.Float32bits(float32(v)))
				} else {
					le.PutUint64(e, math.Float64bits(v))
				}
			}
		}
	}
	return b
}

func equalReal(dt Datatype, got []byte, v float64) bool {
	x := realFormats[dt].value(dt, code(got))
	switch dt {
	case Float:
		v = float64(float32(v))
	case Double:
	default:
		if !math.IsNaN(v) {
			v = realFormats[dt].value(dt, nearest(dt, v))
		}
	}
	return x == v && math.Signbit(x) == math.Signbit(v) || math.IsNaN(x) && math.IsNaN(v)
}

// checkElement compares one element with the result of simple arithmetic.
func checkElement(op Op, dt Datatype, was, got, s, c []byte) error {
	if isInt(dt) {
		if want := plainInt(op, dt, was, s, c); !bytes.Equal(got, want) {
			return fmt.Errorf("got %x, want %x", got, want)
		}
		return nil
	}
	if isComplex(dt) {
		return checkComplex(op, dt, was, got, s, c)
	}
	v, exact := plainReal(op, dt, was, s, c)
	if exact != nil && !bytes.Equal(got, exact) || exact == nil && !equalReal(dt, got, v) {
		return fmt.Errorf("got %x, want %v %x", got, v, exact)
	}
	return nil
}

func number(dt Datatype, b []byte) (re, im float64) {
	if dt == FloatComplex {
		return float64(math.Float32frombits(le.Uint32(b))), float64(math.Float32frombits(le.Uint32(b[4:])))
	}
	return math.Float64frombits(le.Uint64(b)), math.Float64frombits(le.Uint64(b[8:]))
}

// closeTo ignores the last bits: a fused multiply-add is rounded differently.
func closeTo(dt Datatype, got, want, size float64) bool {
	if math.IsNaN(got) || math.IsNaN(want) || math.IsInf(got, 0) || math.IsInf(want, 0) || math.IsInf(size, 0) ||
		math.IsNaN(size) || size > 1e38 && dt == FloatComplex {
		return true
	}
	eps := 1e-14
	if dt == FloatComplex {
		eps = 1e-6
	}
	return math.Abs(got-want) <= eps*size+1e-37*0x1p-10
}

func checkComplex(op Op, dt Datatype, was, got, s, c []byte) error {
	a, b := number(dt, was)
	x, y := number(dt, s)
	g, h := number(dt, got)
	re, im, size := 0.0, 0.0, math.Abs(a)+math.Abs(b)+math.Abs(x)+math.Abs(y)
	t, u := a != 0 || b != 0, x != 0 || y != 0
	exact := was
	switch op {
	case Sum:
		re, im, exact = a+x, b+y, nil
	case Diff:
		re, im, exact = a-x, b-y, nil
	case Prod:
		re, im, exact = a*x-b*y, a*y+b*x, nil
		size *= size
	case LOr, LAnd, LXor:
		exact = nil
		if op == LOr && (t || u) || op == LAnd && t && u || op == LXor && t != u {
			re = 1
		}
	case Write:
		exact = s
	case CSwap:
		if bytes.Equal(c, was) {
			exact = s
		}
	case CSwapNE:
		if p, q := number(dt, c); p != a || q != b {
			exact = s
		}
	}
	if exact != nil && !bytes.Equal(got, exact) || exact == nil &&
		(!closeTo(dt, g, re, size) || !closeTo(dt, h, im, size)) {
		return fmt.Errorf("got %v %v, want %v %v %x", g, h, re, im, exact)
	}
	return nil
}

// shifted returns a copy of b whose address is n bytes after an aligned one.
func shifted(b []byte, n int) []byte {
	return append(make([]byte, n, n+len(b)), b...)[n:]
}

func TestAgainstPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dt := range types {
		n, size := 40, Size(dt)
		for op := range numOps {
			for k := Base; k <= CompareKind; k++ {
				if !Valid(k, dt, op) {
					continue
				}
				for off := range 3 {
					was := operands(r, dt, n)
					target, s, c, result := shifted(was, off), shifted(operands(r, dt, n), off/2),
						shifted(operands(r, dt, n), off), make([]byte, n*size)
					copy(c[:n/3*size], was) // some comparisons are true
					copy(s[n*size/2:n*size/2+3*size], was[n*size/2:])
					var err error
					switch k {
					case Base:
						err, result = Apply(dt, op, target, s), was
					case FetchKind:
						err = Fetch(dt, op, target, s, result)
					case CompareKind:
						err = Compare(dt, op, target, s, c, result)
					}
					if err != nil || !bytes.Equal(result, was) {
						t.Fatalf("type %d op %d: %v, result %x, want %x", dt, op, err, result, was)
					}
					for at := 0; at < n*size; at += size {
						var ce []byte
						if k == CompareKind {
							ce = c[at : at+size]
						}
						if op == Read {
							err = nil
							if !bytes.Equal(target[at:at+size], was[at:at+size]) {
								err = fmt.Errorf("changed")
							}
						} else {
							err = checkElement(op, dt, was[at:at+size], target[at:at+size], s[at:at+size], ce)
						}
						if err != nil {
							t.Fatalf("type %d op %d kind %d: %x and %x (%x): %v", dt, op, k, was[at:at+size],
								s[at:at+size], ce, err)
						}
					}
				}
			}
		}
	}
}

// TestValid checks the rules of fi_atomic(3) and of native's util_atomic.c.
func TestValid(t *testing.T) {
	reals := map[Datatype]bool{Float: true, Double: true, LongDouble: true, Float16: true, BFloat16: true,
		Float8E4M3: true, Float8E5M2: true}
	base := []Op{Min, Max, Sum, Prod, LOr, LAnd, BOr, BAnd, LXor, BXor, Write, Diff}
	swap := []Op{CSwap, CSwapNE, CSwapLE, CSwapLT, CSwapGE, CSwapGT, MSwap}
	in := func(ops []Op, op Op) bool { return bytes.IndexByte(raw8(ops), byte(op)) >= 0 }
	for dt := range Datatype(255) {
		known := dt <= Float8E5M2
		for op := range Op(255) {
			ok := known
			switch {
			case dt == FloatComplex || dt == DoubleComplex || dt == LongDoubleComplex:
				ok = ok && in([]Op{Sum, Prod, LOr, LAnd, LXor, Read, Write, CSwap, CSwapNE, Diff}, op)
			case reals[dt]:
				ok = ok && !in([]Op{BOr, BAnd, BXor, MSwap}, op)
			}
			for k, want := range map[Kind]bool{Base: ok && in(base, op), FetchKind: ok && (in(base, op) || op == Read),
				CompareKind: ok && in(swap, op), 3: false} {
				if got := Valid(k, dt, op); got != want {
					t.Errorf("Valid(%d, type %d, op %d) = %v", k, dt, op, got)
				}
			}
		}
	}
}

func raw8[T ~uint8](v []T) []byte {
	b := make([]byte, len(v))
	for i := range v {
		b[i] = byte(v[i])
	}
	return b
}

// TestSmallFormats: every number of a small type is encoded to itself, and other numbers are rounded to the nearest.
func TestSmallFormats(t *testing.T) {
	for dt := Float16; dt <= Float8E5M2; dt++ {
		f, rf := &smallFormats[dt-Float16], realFormats[dt]
		for c := range uint32(1) << (8 * f.size) {
			v := f.decode(c)
			if want := rf.value(dt, uint64(c)); float64(v) != want && !math.IsNaN(want) ||
				math.IsNaN(want) != math.IsNaN(float64(v)) {
				t.Fatalf("type %d code %x: %v, want %v", dt, c, v, want)
			}
			if got := f.encode(v); got != c && v == v {
				t.Fatalf("type %d code %x came back as %x", dt, c, got)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, dt := range []Datatype{Float8E4M3, Float8E5M2} {
		for range 20000 {
			v := math.Float32frombits(r.Uint32())
			if r.IntN(2) == 0 {
				v = float32(math.Ldexp(float64(r.IntN(256)-128), r.IntN(32)-22))
			}
			if got, want := smallFormats[dt-Float16].encode(v), nearest(dt, float64(v)); v == v && uint64(got) != want {
				t.Fatalf("type %d: %v is %x, want %x", dt, v, got, want)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	a, b, c := make([]byte, 8), make([]byte, 8), make([]byte, 9)
	for i, got := range []error{
		Apply(Uint64, Read, a, b), Apply(99, Sum, a, b), Apply(Double, BOr, a, b), Fetch(Uint64, CSwap, a, b, a),
		Compare(Uint64, Sum, a, b, a, a), Apply(200, 200, a, b),
	} {
		if got != ErrOp {
			t.Errorf("%d: %v", i, got)
		}
	}
	for i, got := range []error{
		Apply(Uint64, Sum, a, c), Apply(Uint64, Sum, c, c), Fetch(Uint64, Read, a, nil, c),
		Fetch(Uint64, Sum, a, nil, b), Fetch(Uint8, Sum, a, c, a),
		Compare(Uint8, CSwap, a, b, c, a), Compare(Uint8, CSwap, a, c, b, a), Compare(Uint8, CSwap, a, b, b, c),
		Compare(Uint16, MSwap, c, c, c, c),
	} {
		if got != ErrSize {
			t.Errorf("%d: %v", i, got)
		}
	}
	if Apply(Uint64, Sum, nil, nil) != nil || Fetch(Double, Read, a, nil, b) != nil {
		t.Error("no operand, and a read, must be valid")
	}
}

func TestNoAllocs(t *testing.T) {
	mem := make([]byte, 4*1024+1)
	for off := range 2 {
		d, s, c, res := mem[off:1024+off], mem[1024:2048], mem[2048:3072], mem[3072:4096]
		for _, dt := range append(types, LongDouble, LongDoubleComplex) {
			if n := testing.AllocsPerRun(10,
				func() { _, _, _ = Apply(dt, Sum, d, s), Fetch(dt, LXor, d, s, res), Compare(dt, CSwapNE, d, s, c, res) }); n != 0 {
				t.Errorf("type %d: %v allocations", dt, n)
			}
		}
	}
}

func BenchmarkApply(b *testing.B) {
	for _, dt := range types {
		for off := range 2 {
			d, s := make([]byte, 64*Size(dt)+off)[off:], make([]byte, 64*Size(dt))
			b.Run(fmt.Sprintf("type%d/off%d", dt, off), func(b *testing.B) {
				for b.Loop() {
					_ = Apply(dt, Sum, d, s)
				}
			})
		}
	}
}
