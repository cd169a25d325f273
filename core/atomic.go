package core

// Datatype is an operand type of atomic operations (fi_atomic(3)).
type Datatype uint16

const (
	Int8              Datatype = iota // FI_INT8
	Uint8                             // FI_UINT8
	Int16                             // FI_INT16
	Uint16                            // FI_UINT16
	Int32                             // FI_INT32
	Uint32                            // FI_UINT32
	Int64                             // FI_INT64
	Uint64                            // FI_UINT64
	Float                             // FI_FLOAT
	Double                            // FI_DOUBLE
	FloatComplex                      // FI_FLOAT_COMPLEX
	DoubleComplex                     // FI_DOUBLE_COMPLEX
	LongDouble                        // FI_LONG_DOUBLE
	LongDoubleComplex                 // FI_LONG_DOUBLE_COMPLEX
	Int128                            // FI_INT128
	Uint128                           // FI_UINT128
	Float16                           // FI_FLOAT16
	BFloat16                          // FI_BFLOAT16
	Float8E4M3                        // FI_FLOAT8_E4M3
	Float8E5M2                        // FI_FLOAT8_E5M2
	Void              Datatype = 256  // FI_VOID, in collectives only
)

// AtomicOp is an atomic operation (fi_atomic(3)).
type AtomicOp uint16

const (
	AtomicMin     AtomicOp = iota // FI_MIN
	AtomicMax                     // FI_MAX
	AtomicSum                     // FI_SUM
	AtomicProd                    // FI_PROD
	AtomicLOr                     // FI_LOR
	AtomicLAnd                    // FI_LAND
	AtomicBOr                     // FI_BOR
	AtomicBAnd                    // FI_BAND
	AtomicLXor                    // FI_LXOR
	AtomicBXor                    // FI_BXOR
	AtomicRead                    // FI_ATOMIC_READ
	AtomicWrite                   // FI_ATOMIC_WRITE
	AtomicCSwap                   // FI_CSWAP
	AtomicCSwapNE                 // FI_CSWAP_NE
	AtomicCSwapLE                 // FI_CSWAP_LE
	AtomicCSwapLT                 // FI_CSWAP_LT
	AtomicCSwapGE                 // FI_CSWAP_GE
	AtomicCSwapGT                 // FI_CSWAP_GT
	AtomicMSwap                   // FI_MSWAP
	AtomicDiff                    // FI_DIFF
	AtomicNoop    AtomicOp = 256  // FI_NOOP, in collectives only
)

// AtomicFlags select the call that Domain.QueryAtomic describes (fi_query_atomic(3)). 0 is Endpoint.Atomic.
type AtomicFlags uint64

// The calls.
const (
	AtomicTagged  AtomicFlags = 1 << 3  // FI_TAGGED
	AtomicFetch   AtomicFlags = 1 << 58 // FI_FETCH_ATOMIC
	AtomicCompare AtomicFlags = 1 << 59 // FI_COMPARE_ATOMIC
)

// AtomicAttr is struct fi_atomic_attr. Count is the largest number of operands of one operation. Size is the size
// of one operand, in bytes.
type AtomicAttr struct {
	Count int
	Size  int
}

// RMAIoc is a range of remote operands (struct fi_rma_ioc, fi_atomic(3)). Count is a number of operands.
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
	Ctx    OpContext
	Data   uint64

	Trigger *TriggeredContext
}

// Atomic performs an atomic operation on remote memory (fi_atomicmsg(3)). Buffers hold operands in the host's byte
// order.
func (e *Endpoint) Atomic(m *AtomicArgs, flags OpFlags) error {
	return e.d.Post(m.op(CallAtomicMsg, flags))
}

// FetchAtomic is Atomic, and stores the previous values of the remote operands in result (fi_fetch_atomicmsg(3)).
func (e *Endpoint) FetchAtomic(m *AtomicArgs, result [][]byte, resultDesc []Desc, flags OpFlags) error {
	op := m.op(CallFetchAtomicMsg, flags)
	op.Result, op.ResultDescs = result, resultDesc
	return e.d.Post(op)
}

// CompareAtomic is FetchAtomic with a condition: a remote operand changes only if its comparison with the one in
// compare holds (fi_compare_atomicmsg(3)).
func (e *Endpoint) CompareAtomic(m *AtomicArgs, compare [][]byte, compareDesc []Desc, result [][]byte, resultDesc []Desc, flags OpFlags) error {
	op := m.op(CallCompareAtomicMsg, flags)
	op.Compare, op.CompareDescs, op.Result, op.ResultDescs = compare, compareDesc, result, resultDesc
	return e.d.Post(op)
}

func (m *AtomicArgs) op(call Call, flags OpFlags) Op {
	return Op{Call: call, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, RMAIOC: m.RMAIOC, Type: m.Type, Oper: m.Op, Ctx: m.Ctx, Data: m.Data, Flags: flags,
		Trigger: m.Trigger.driver()}
}

// InjectAtomic is Atomic without a completion, for operands of at most TxAttr.InjectSize bytes (fi_inject_atomic(3)).
func (e *Endpoint) InjectAtomic(buf []byte, dest FIAddr, addr, key uint64, dt Datatype, op AtomicOp) error {
	return e.d.Post(Op{Call: CallInjectAtomic, Buf: buf, Addr: dest, RMA: RMAIov{Addr: addr, Key: key}, Type: dt, Oper: op})
}

// AtomicValid returns the largest number of operands of one Atomic (fi_atomicvalid(3)).
func (e *Endpoint) AtomicValid(dt Datatype, op AtomicOp) (count int, err error) {
	return e.d.AtomicCount(OpAtomic, dt, op)
}

// FetchAtomicValid returns the largest number of operands of one FetchAtomic (fi_fetch_atomicvalid(3)).
func (e *Endpoint) FetchAtomicValid(dt Datatype, op AtomicOp) (count int, err error) {
	return e.d.AtomicCount(OpFetchAtomic, dt, op)
}

// CompareAtomicValid returns the largest number of operands of one CompareAtomic (fi_compare_atomicvalid(3)).
func (e *Endpoint) CompareAtomicValid(dt Datatype, op AtomicOp) (count int, err error) {
	return e.d.AtomicCount(OpCompareAtomic, dt, op)
}
