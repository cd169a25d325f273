package front

import (
	"gofabric/core"
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

const (
	atomicWrite = uint64(core.CapAtomic | core.Write)
	atomicRead  = uint64(core.CapAtomic | core.Read)
)

// atomics says whether the endpoint may use atomic operations; every call of core.Atomic asks here first.
func (t *Transmitter) atomics() error {
	if t.noAtomic {
		return core.ErrOpNotSupp
	}
	return nil
}

// checkAtomic fills in a with the arguments of an operation, if they go together.
func (t *Transmitter) checkAtomic(a *engine.Atomic, kind engine.Kind, m *core.AtomicArgs, compare, result [][]byte, flags core.Flags) error {
	if err := t.atomics(); err != nil {
		return err
	}
	if err := t.check(m.IOV, flags); err != nil {
		return err
	}
	var ok bool
	if a.Type, a.Op, ok = atomics.Of(atomics.Kind(kind-engine.KindAtomic), uint16(m.Type), uint16(m.Op)); !ok {
		return core.ErrOpNotSupp
	}
	if len(m.RMAIOC) == 0 || max(len(m.RMAIOC), len(compare), len(result)) > engine.MaxIOV {
		return core.ErrInval
	}
	size, total := atomics.Size(a.Type), 0
	for _, r := range m.RMAIOC {
		if r.Count < 0 {
			return core.ErrInval
		}
		if r.Count > engine.MaxAtomic/size {
			return core.ErrMsgSize
		}
		total += r.Count * size
	}
	switch {
	case total == 0, a.Op != atomics.Read && iovLen(m.IOV) != total, kind != engine.KindAtomic && iovLen(result) != total, kind == engine.KindCompare && iovLen(compare) != total:
		return core.ErrInval // a count is at least 1, and the same everywhere (fi_atomic(3))
	case total > engine.MaxAtomic:
		return core.ErrMsgSize
	}
	return nil
}

// postAtomic posts an atomic operation.
func (t *Transmitter) postAtomic(kind engine.Kind, m *core.AtomicArgs, compare, result [][]byte, flags core.Flags, inject bool) error {
	if flags&core.Trigger != 0 {
		return t.triggerAtomic(kind, m, compare, result, flags)
	}
	var a engine.Atomic
	if err := t.checkAtomic(&a, kind, m, compare, result, flags); err != nil {
		return err
	}
	report := atomicRead
	if kind == engine.KindAtomic {
		report = atomicWrite
	}
	s := t.begin(kind, report, flags)
	s.NIOV, s.Ctx, s.Inject = copy(s.IOV[:], m.IOV), uint64(m.Ctx), inject
	s.HasData, s.Data = flags&core.RemoteCQData != 0 && kind == engine.KindAtomic, m.Data
	a.NCompare, a.NResult = copy(a.Compare[:], compare), copy(a.Result[:], result)
	for i, r := range m.RMAIOC {
		s.RMA[i] = wire.RMAIov{Addr: r.Addr, Len: uint64(r.Count * atomics.Size(a.Type)), Key: r.Key}
	}
	s.NRMA = len(m.RMAIOC)
	t.e.d.atomic = a
	s.Atomic = &t.e.d.atomic
	return t.end(s, m.Addr, flags&core.More != 0)
}

// Atomic is fi_atomicmsg (fi_atomic(3)).
func (t *Transmitter) Atomic(m *core.AtomicArgs, flags core.Flags) error {
	return t.postAtomic(engine.KindAtomic, m, nil, nil, flags, false)
}

// FetchAtomic is fi_fetch_atomicmsg (fi_atomic(3)).
func (t *Transmitter) FetchAtomic(m *core.AtomicArgs, result [][]byte, _ []core.Desc, flags core.Flags) error {
	return t.postAtomic(engine.KindFetch, m, nil, result, flags, false)
}

// CompareAtomic is fi_compare_atomicmsg (fi_atomic(3)).
func (t *Transmitter) CompareAtomic(m *core.AtomicArgs, compare [][]byte, _ []core.Desc, result [][]byte, _ []core.Desc, flags core.Flags) error {
	return t.postAtomic(engine.KindCompare, m, compare, result, flags, false)
}

// InjectAtomic is fi_inject_atomic (fi_atomic(3)); see Inject.
func (t *Transmitter) InjectAtomic(buf []byte, dest core.FIAddr, addr, key uint64, dt core.Datatype, op core.AtomicOp) error {
	if err := t.atomics(); err != nil {
		return err
	}
	typ, _, ok := atomics.Of(atomics.Base, uint16(dt), uint16(op))
	if !ok {
		return core.ErrOpNotSupp
	}
	if len(buf) > t.e.info.Tx.InjectSize || len(buf)%atomics.Size(typ) != 0 {
		return core.ErrInval
	}
	iov, ioc := [1][]byte{buf}, [1]core.RMAIoc{{Addr: addr, Count: len(buf) / atomics.Size(typ), Key: key}}
	m := core.AtomicArgs{IOV: iov[:], Addr: dest, RMAIOC: ioc[:], Type: dt, Op: op}
	return t.postAtomic(engine.KindAtomic, &m, nil, nil, 0, true)
}

// atomicCount says how many operands one operation takes.
func (t *Transmitter) atomicCount(k atomics.Kind, dt core.Datatype, op core.AtomicOp) (int, error) {
	if err := t.atomics(); err != nil {
		return 0, err
	}
	a, err := atomicAttr(k, dt, op)
	return a.Count, err
}

// atomicAttr describes an operation.
func atomicAttr(k atomics.Kind, dt core.Datatype, op core.AtomicOp) (core.AtomicAttr, error) {
	typ, _, ok := atomics.Of(k, uint16(dt), uint16(op))
	if !ok {
		return core.AtomicAttr{}, core.ErrOpNotSupp
	}
	size := atomics.Size(typ)
	return core.AtomicAttr{Count: engine.MaxAtomic / size, Size: size}, nil
}

// AtomicValid says how many operands one operation takes (fi_atomicvalid, fi_atomic(3)).
func (t *Transmitter) AtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return t.atomicCount(atomics.Base, dt, op)
}

// FetchAtomicValid is AtomicValid of FetchAtomic.
func (t *Transmitter) FetchAtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return t.atomicCount(atomics.FetchKind, dt, op)
}

// CompareAtomicValid is AtomicValid of CompareAtomic.
func (t *Transmitter) CompareAtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return t.atomicCount(atomics.CompareKind, dt, op)
}

// QueryAtomic is fi_query_atomic (fi_atomic(3)): flags say of which calls, none of the base ones. Tagged atomics there are none.
func (d *Domain) QueryAtomic(dt core.Datatype, op core.AtomicOp, flags core.Flags) (core.AtomicAttr, error) {
	k := atomics.Base
	switch {
	case d.info.Caps&core.CapAtomic == 0, flags&core.CapTagged != 0:
		return core.AtomicAttr{}, core.ErrOpNotSupp
	case flags == core.QueryFetch:
		k = atomics.FetchKind
	case flags == core.QueryCompare:
		k = atomics.CompareKind
	case flags != 0:
		return core.AtomicAttr{}, core.ErrBadFlags
	}
	return atomicAttr(k, dt, op)
}
