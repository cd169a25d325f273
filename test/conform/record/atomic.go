package record

import "gofabric/core"

// atomic notes an atomic operation: the plain, the v or the msg variant, which are one call here.
func (r *Recorder) atomic(name string, m *core.AtomicArgs, flags core.Flags, err error) error {
	if m == nil {
		return err
	}
	switch {
	case flags != 0:
		r.flags(name+"msg", flags, err)
	case len(m.IOV) > 1:
		r.call(name+"v", err)
	default:
		r.call(name, err)
	}
	r.operand(m.Type, m.Op, err)
	return err
}

// skips reports whether the operation m of this variant is taken away: the call, the datatype or the operator.
func (r *Recorder) skips(name string, m *core.AtomicArgs, flags core.Flags) bool {
	if m == nil {
		return false
	}
	switch {
	case flags != 0:
		name += "msg"
	case len(m.IOV) > 1:
		name += "v"
	}
	return r.Lacks(name) || r.hides("datatype", uint64(m.Type)) || r.hides("atomic_op", uint64(m.Op))
}

// operand notes datatype and operation of an atomic operation or a collective one.
func (r *Recorder) operand(dt core.Datatype, op core.AtomicOp, err error) {
	r.value("datatype", uint64(dt), err)
	r.value("atomic_op", uint64(op), err)
}

func bareAtomic(m *core.AtomicArgs) *core.AtomicArgs {
	if m == nil || m.Trigger == nil {
		return m
	}
	b := *m
	b.Trigger = trigger(m.Trigger)
	return &b
}

func (e *endpoint) Atomic(m *core.AtomicArgs, flags core.Flags) error {
	if e.r.skips("fi_atomic", m, flags) {
		return nil
	}
	return e.r.atomic("fi_atomic", m, flags, e.Endpoint.Atomic(bareAtomic(m), e.r.Mask("fi_atomicmsg", flags)))
}

func (e *endpoint) FetchAtomic(m *core.AtomicArgs, result [][]byte, resultDesc []core.Desc, flags core.Flags) error {
	if e.r.skips("fi_fetch_atomic", m, flags) {
		return nil
	}
	return e.r.atomic("fi_fetch_atomic", m, flags, e.Endpoint.FetchAtomic(bareAtomic(m), result, resultDesc, e.r.Mask("fi_fetch_atomicmsg", flags)))
}

func (e *endpoint) CompareAtomic(m *core.AtomicArgs, compare [][]byte, compareDesc []core.Desc, result [][]byte, resultDesc []core.Desc, flags core.Flags) error {
	if e.r.skips("fi_compare_atomic", m, flags) {
		return nil
	}
	err := e.Endpoint.CompareAtomic(bareAtomic(m), compare, compareDesc, result, resultDesc, e.r.Mask("fi_compare_atomicmsg", flags))
	return e.r.atomic("fi_compare_atomic", m, flags, err)
}

func (e *endpoint) InjectAtomic(buf []byte, dest core.FIAddr, addr, key uint64, dt core.Datatype, op core.AtomicOp) error {
	if e.r.Lacks("fi_inject_atomic") || e.r.hides("datatype", uint64(dt)) || e.r.hides("atomic_op", uint64(op)) {
		return nil
	}
	err := e.Endpoint.InjectAtomic(buf, dest, addr, key, dt, op)
	e.r.operand(dt, op, err)
	return e.r.call("fi_inject_atomic", err)
}

func (e *endpoint) AtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return get(e.r, "fi_atomicvalid", func() (int, error) { return e.Endpoint.AtomicValid(dt, op) })
}

func (e *endpoint) FetchAtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return get(e.r, "fi_fetch_atomicvalid", func() (int, error) { return e.Endpoint.FetchAtomicValid(dt, op) })
}

func (e *endpoint) CompareAtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return get(e.r, "fi_compare_atomicvalid", func() (int, error) { return e.Endpoint.CompareAtomicValid(dt, op) })
}
