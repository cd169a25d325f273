package endpoint

import (
	"gofabric/core"
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

const (
	atomicWrite = uint64(core.CompAtomic | core.CompWrite)
	atomicRead  = uint64(core.CompAtomic | core.CompRead)
)

// atomics fails if the endpoint was opened without atomic operations. Every call of core.Atomic checks this first.
func (t *Transmitter) atomics() error {
	if t.noAtomic {
		return core.ErrOpNotSupp
	}
	return nil
}

// atomicKinds maps the calls to the engine's kinds of operations.
var atomicKinds = [...]engine.Kind{core.OpAtomic: engine.KindAtomic, core.OpFetchAtomic: engine.KindFetch, core.OpCompareAtomic: engine.KindCompare}

// checkAtomic checks the arguments of an operation against one another and fills in the type and operation of a.
func (t *Transmitter) checkAtomic(a *engine.Atomic, kind engine.Kind, op *core.Op) error {
	if err := t.atomics(); err != nil {
		return err
	}
	if err := t.check(op); err != nil {
		return err
	}
	var ok bool
	if a.Type, a.Op, ok = atomics.Of(atomics.Kind(kind-engine.KindAtomic), uint16(op.Type), uint16(op.Oper)); !ok {
		return core.ErrOpNotSupp
	}
	size, total := atomics.Size(a.Type), 0
	if op.Call.Inject() {
		if total = len(op.Buf); total%size != 0 {
			return core.ErrInval
		}
	} else if len(op.RMAIOC) == 0 || max(len(op.RMAIOC), len(op.Compare), len(op.Result)) > engine.MaxIOV {
		return core.ErrInval
	}
	for _, r := range op.RMAIOC {
		if r.Count < 0 {
			return core.ErrInval
		}
		if r.Count > engine.MaxAtomic/size {
			return core.ErrMsgSize
		}
		total += r.Count * size
	}
	switch {
	case total == 0, a.Op != atomics.Read && op.Len() != total, kind != engine.KindAtomic && iovLen(op.Result) != total,
		kind == engine.KindCompare && iovLen(op.Compare) != total:
		return core.ErrInval // a count is at least 1, and all counts are equal (fi_atomic(3))
	case total > engine.MaxAtomic:
		return core.ErrMsgSize
	}
	return nil
}

// postAtomic starts an atomic operation (fi_atomic(3)).
func (t *Transmitter) postAtomic(op *core.Op) error {
	kind := atomicKinds[op.Call.Op()]
	var a engine.Atomic
	if err := t.checkAtomic(&a, kind, op); err != nil {
		return err
	}
	report := atomicRead
	if kind == engine.KindAtomic {
		report = atomicWrite
	}
	s := t.begin(kind, report, op)
	s.HasData, s.Data = kind == engine.KindAtomic && op.HasData(), op.Data
	if kind == engine.KindCompare {
		a.NCompare = copy(a.Compare[:], op.Compare)
	}
	if kind != engine.KindAtomic {
		a.NResult = copy(a.Result[:], op.Result)
	}
	if op.Call.Inject() {
		s.RMA[0], s.NRMA = wire.RMAIov{Addr: op.RMA.Addr, Len: uint64(len(op.Buf)), Key: op.RMA.Key}, 1
	} else {
		for i, r := range op.RMAIOC {
			s.RMA[i] = wire.RMAIov{Addr: r.Addr, Len: uint64(r.Count * atomics.Size(a.Type)), Key: r.Key}
		}
		s.NRMA = len(op.RMAIOC)
	}
	t.e.d.atomic = a
	s.Atomic = &t.e.d.atomic
	return t.end(s, op.Addr, op.Flags&core.OpMore != 0)
}

// AtomicCount returns the number of operands that one operation can have (fi_atomicvalid, fi_atomic(3)).
func (x *Transfers) AtomicCount(what core.OpType, dt core.Datatype, op core.AtomicOp) (int, error) {
	if err := x.atomics(); err != nil {
		return 0, err
	}
	if what < core.OpAtomic || what > core.OpCompareAtomic {
		return 0, core.ErrInval
	}
	a, err := atomicAttr(atomics.Kind(atomicKinds[what]-engine.KindAtomic), dt, op)
	return a.Count, err
}

// atomicAttr returns the limits of an atomic operation, or ErrOpNotSupp for a pair of type and operation that does
// not exist.
func atomicAttr(k atomics.Kind, dt core.Datatype, op core.AtomicOp) (core.AtomicAttr, error) {
	typ, _, ok := atomics.Of(k, uint16(dt), uint16(op))
	if !ok {
		return core.AtomicAttr{}, core.ErrOpNotSupp
	}
	size := atomics.Size(typ)
	return core.AtomicAttr{Count: engine.MaxAtomic / size, Size: size}, nil
}

// QueryAtomic is fi_query_atomic (fi_atomic(3)). flags selects fetch or compare operations, and 0 selects the base
// ones. No provider here has tagged atomics.
func (d *Domain) QueryAtomic(dt core.Datatype, op core.AtomicOp, flags core.AtomicFlags) (core.AtomicAttr, error) {
	k := atomics.Base
	switch {
	case d.info.Caps&core.CapAtomic == 0, flags&core.AtomicTagged != 0:
		return core.AtomicAttr{}, core.ErrOpNotSupp
	case flags == core.AtomicFetch:
		k = atomics.FetchKind
	case flags == core.AtomicCompare:
		k = atomics.CompareKind
	case flags != 0:
		return core.AtomicAttr{}, core.ErrBadFlags
	}
	return atomicAttr(k, dt, op)
}
