package engine

import (
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// Atomic completes an atomic operation, whose operands are Send.IOV and whose remote memory is Send.RMA. Operands are
// copied when they are posted or launched; result buffers are lent until the completion. Operands, results and remote
// memory have the same length, at most wire.MaxAtomic bytes, except that FI_ATOMIC_READ has no operands.
type Atomic struct {
	Type     atomics.Datatype
	Op       atomics.Op
	Compare  [MaxIOV][]byte // of KindCompare
	NCompare int
	Result   [MaxIOV][]byte // of KindFetch and KindCompare
	NResult  int
	next     *Atomic
}

// MaxAtomic is the most bytes of operands of one operation.
const MaxAtomic = wire.MaxAtomic

// atomicOps lists, from KindAtomic on, each kind's name on the wire and the set of operations that it allows.
var atomicOps = [...]struct {
	op   wire.Op
	kind atomics.Kind
}{{wire.OpAtomic, atomics.Base}, {wire.OpAtomicFetch, atomics.FetchKind}, {wire.OpAtomicCompare, atomics.CompareKind}}

// checkAtomic checks that the arguments go together.
func (s *Send) checkAtomic() error {
	a := s.Atomic
	if a == nil || s.Kind > KindCompare || s.NRMA == 0 || !atomics.Valid(atomicOps[s.Kind-KindAtomic].kind, a.Type, a.Op) {
		return ErrInvalid
	}
	n, ok := memoryLen(s.RMA[:s.NRMA], a.Type)
	switch {
	case !ok || n == 0:
		return ErrInvalid
	case n > MaxAtomic:
		return ErrTooLong
	case a.Op != atomics.Read && uint64(s.Len()) != n,
		s.Kind == KindCompare && sum(a.Compare[:a.NCompare]) != n,
		s.Kind != KindAtomic && a.resultLen() != n:
		return ErrInvalid
	}
	return nil
}

// resultLen is the number of bytes that the operation brings back.
func (a *Atomic) resultLen() uint64 { return sum(a.Result[:a.NResult]) }

// memoryLen adds up remote memory, which must consist of whole elements.
func memoryLen(iov []wire.RMAIov, dt atomics.Datatype) (n uint64, ok bool) {
	size := uint64(atomics.Size(dt))
	for _, v := range iov {
		if v.Len > wire.MaxSize || v.Len%size != 0 {
			return 0, false
		}
		n += v.Len
	}
	return n, true
}
