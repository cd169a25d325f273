package core

// Datatype is an operand type of atomic operations (fi_atomic(3)).
type Datatype uint16

const (
	Int8 Datatype = iota
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float
	Double
	FloatComplex
	DoubleComplex
	LongDouble
	LongDoubleComplex
	Int128
	Uint128
	Float16
	BFloat16
	Float8E4M3
	Float8E5M2
	Void Datatype = 256 // FI_VOID, in collectives only
)

// AtomicOp is an atomic operation (fi_atomic(3)).
type AtomicOp uint16

const (
	AtomicMin AtomicOp = iota
	AtomicMax
	AtomicSum
	AtomicProd
	AtomicLOr
	AtomicLAnd
	AtomicBOr
	AtomicBAnd
	AtomicLXor
	AtomicBXor
	AtomicRead
	AtomicWrite
	AtomicCSwap
	AtomicCSwapNE
	AtomicCSwapLE
	AtomicCSwapLT
	AtomicCSwapGE
	AtomicCSwapGT
	AtomicMSwap
	AtomicDiff
	AtomicNoop AtomicOp = 256 // FI_NOOP, in collectives only
)

// Flags of Domain.QueryAtomic: of which calls it tells (fi_query_atomic, fi_atomic(3)).
const (
	QueryFetch   Flags = 1 << 58 // FI_FETCH_ATOMIC
	QueryCompare Flags = 1 << 59 // FI_COMPARE_ATOMIC
)

// AtomicAttr is struct fi_atomic_attr: Count is the largest number of operands of one operation, Size the bytes of one.
type AtomicAttr struct {
	Count int
	Size  int
}

// RMAIoc is a range of remote operands (struct fi_rma_ioc, fi_atomic(3)); Count counts operands.
type RMAIoc struct {
	Addr  uint64
	Count int
	Key   uint64
}

// AtomicArgs are the arguments of the msg variants (struct fi_msg_atomic, fi_atomic(3)).
type AtomicArgs struct {
	IOV    [][]byte
	Desc   []Desc
	Addr   FIAddr
	RMAIOC []RMAIoc
	Type   Datatype
	Op     AtomicOp
	Ctx    Context
	Data   uint64

	Trigger *TriggeredContext
}

// Atomic is remote atomic access (fi_atomic(3)). Buffers hold operands in the host's byte order.
type Atomic interface {
	Atomic(m *AtomicArgs, flags Flags) error
	FetchAtomic(m *AtomicArgs, result [][]byte, resultDesc []Desc, flags Flags) error
	CompareAtomic(m *AtomicArgs, compare [][]byte, compareDesc []Desc, result [][]byte, resultDesc []Desc, flags Flags) error
	InjectAtomic(buf []byte, dest FIAddr, addr, key uint64, dt Datatype, op AtomicOp) error
	AtomicValid(dt Datatype, op AtomicOp) (count int, err error)
	FetchAtomicValid(dt Datatype, op AtomicOp) (count int, err error)
	CompareAtomicValid(dt Datatype, op AtomicOp) (count int, err error)
}

// NoAtomic is the Atomic of providers that have none: every call returns ErrOpNotSupp, as natively.
type NoAtomic struct{}

func (NoAtomic) Atomic(*AtomicArgs, Flags) error                        { return ErrOpNotSupp }
func (NoAtomic) FetchAtomic(*AtomicArgs, [][]byte, []Desc, Flags) error { return ErrOpNotSupp }
func (NoAtomic) CompareAtomic(*AtomicArgs, [][]byte, []Desc, [][]byte, []Desc, Flags) error {
	return ErrOpNotSupp
}
func (NoAtomic) InjectAtomic([]byte, FIAddr, uint64, uint64, Datatype, AtomicOp) error {
	return ErrOpNotSupp
}
func (NoAtomic) AtomicValid(Datatype, AtomicOp) (int, error)        { return 0, ErrOpNotSupp }
func (NoAtomic) FetchAtomicValid(Datatype, AtomicOp) (int, error)   { return 0, ErrOpNotSupp }
func (NoAtomic) CompareAtomicValid(Datatype, AtomicOp) (int, error) { return 0, ErrOpNotSupp }
