package atomics

// Datatype is the type of an operand. The numbers are those of enum fi_datatype.
type Datatype uint8

// The datatypes.
const (
	Int8              Datatype = 0
	Uint8             Datatype = 1
	Int16             Datatype = 2
	Uint16            Datatype = 3
	Int32             Datatype = 4
	Uint32            Datatype = 5
	Int64             Datatype = 6
	Uint64            Datatype = 7
	Float             Datatype = 8
	Double            Datatype = 9
	FloatComplex      Datatype = 10
	DoubleComplex     Datatype = 11
	LongDouble        Datatype = 12 // x86's (longdouble.go)
	LongDoubleComplex Datatype = 13
	Int128            Datatype = 14
	Uint128           Datatype = 15
	Float16           Datatype = 16
	BFloat16          Datatype = 17
	Float8E4M3        Datatype = 18
	Float8E5M2        Datatype = 19
)

// sizes has the length of each type in bytes.
var sizes = [...]uint8{
	Int8: 1, Uint8: 1, Int16: 2, Uint16: 2, Int32: 4, Uint32: 4, Int64: 8, Uint64: 8, Int128: 16, Uint128: 16,
	Float: 4, Double: 8, FloatComplex: 8, DoubleComplex: 16, LongDouble: extSize, LongDoubleComplex: 2 * extSize,
	Float16: 2, BFloat16: 2, Float8E4M3: 1, Float8E5M2: 1,
}

// Size returns the length of one operand in bytes, or 0 for an unknown type.
func Size(dt Datatype) int {
	if int(dt) >= len(sizes) {
		return 0
	}
	return int(sizes[dt])
}

// alignment is what the address of an operand must be a multiple of for the type's arithmetic: 1 for types that Go has
// not, which are put together from bytes.
func alignment(dt Datatype) uintptr {
	switch {
	case dt <= Double:
		return uintptr(sizes[dt])
	case dt <= DoubleComplex:
		return uintptr(sizes[dt] / 2)
	}
	return 1
}

// Real numbers have an order, and integers have bits: isInt and isComplex say which operations a type has.
func isInt(dt Datatype) bool { return dt <= Uint64 || dt == Int128 || dt == Uint128 }
func isComplex(dt Datatype) bool {
	return dt == FloatComplex || dt == DoubleComplex || dt == LongDoubleComplex
}
