package engine

import (
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// Atomic is the part of a Send that only atomic operations have. Send.IOV has the operands and Send.RMA the remote
// memory. Operands are copied when the operation is posted or launched; result buffers are borrowed until the
// completion. Operands, results and remote memory have equal lengths, at most wire.MaxAtomic bytes. FI_ATOMIC_READ
// has no operands.
type Atomic struct {
	Type     atomics.Datatype
	Op       atomics.Op
	Compare  [MaxIOV][]byte // of KindCompare
	NCompare int
	Result   [MaxIOV][]byte // of KindFetch and KindCompare
	NResult  int
	next     *Atomic
}

// MaxAtomic is the most operand bytes of one operation.
const MaxAtomic = wire.MaxAtomic

// atomicOps has, from KindAtomic on, the operation on the wire and the group of operations that each kind allows.
var atomicOps = [...]struct {
	op   wire.Op
	kind atomics.Kind
}{{wire.OpAtomic, atomics.Base}, {wire.OpAtomicFetch, atomics.FetchKind}, {wire.OpAtomicCompare, atomics.CompareKind}}

// checkAtomic checks that the arguments fit together.
func (s *Send) checkAtomic() error {
	// The arguments are the application's, so they are checked before anything is sent.
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

// resultLen is the length of the result in bytes.
func (a *Atomic) resultLen() uint64 { return sum(a.Result[:a.NResult]) }

// memoryLen adds up the lengths of remote memory. ok is false if they are not multiples of the element.
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
