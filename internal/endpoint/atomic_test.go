package endpoint_test

import (
	"encoding/binary"
	"testing"

	"gofabric/core"
)

// atomicWorld is two endpoints of gofabric, memory of 64-bit numbers with key 3.
func atomicWorld(t *testing.T) (w *world, mem []byte) {
	t.Helper()
	const caps = allCaps | core.CapAtomic | core.CapFence
	w = newWorld(t, caps, 0)
	w.a.drv.conn.Extended, w.b.drv.conn.Extended = true, true
	mem = words(1, 2, 3, 4)
	region := opened(t, w.d.RegMR, &core.MRAttr{IOV: [][]byte{mem},
		Access: core.AccessRemoteRead | core.AccessRemoteWrite, RequestedKey: 3})
	w.bound = append(w.bound, region)
	return w, mem
}

func words(v ...uint64) []byte {
	var b []byte
	for _, w := range v {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

func args(op core.AtomicOp, operands ...uint64) *core.AtomicArgs {
	b := words(operands...)
	return &core.AtomicArgs{IOV: [][]byte{b[:8], b[8:]},
		RMAIOC: []core.RMAIoc{{Addr: 8, Count: 1, Key: 3}, {Addr: 16, Count: 1, Key: 3}}, Type: core.Uint64, Op: op,
		Ctx: 9, Data: 77}
}

// TestAtomics goes through all calls of core.Atomic.
func TestAtomics(t *testing.T) {
	w, mem := atomicWorld(t)
	want := func(what string, got []byte, v ...uint64) {
		t.Helper()
		if string(got) != string(words(v...)) {
			t.Errorf("%s: %x, want %x", what, got, words(v...))
		}
	}
	must(t, w.a.Atomic(args(core.AtomicSum, 10, 20), core.OpRemoteCQData|core.OpFence))
	if e := next(t, w.qa); e.Ctx != 9 || e.Flags != core.CompAtomic|core.CompWrite {
		t.Errorf("completion %+v", e)
	}
	if e := next(t, w.qb); e.Data != 77 || e.Flags != core.CompAtomic|core.CompRemoteWrite|core.CompRemoteCQData {
		t.Errorf("completion at the target %+v", e)
	}
	want("sum", mem, 1, 12, 23, 4)

	result := make([]byte, 16)
	must(t, w.a.FetchAtomic(args(core.AtomicProd, 2, 3), [][]byte{result[:5], result[5:]}, nil, 0))
	if e := next(t, w.qa); e.Ctx != 9 || e.Flags != core.CompAtomic|core.CompRead {
		t.Errorf("completion %+v", e)
	}
	want("fetched", result, 12, 23)
	want("product", mem, 1, 24, 69, 4)
	read := args(core.AtomicRead, 0, 0)
	read.IOV = nil
	must(t, w.a.FetchAtomic(read, [][]byte{result}, nil, 0))
	next(t, w.qa)
	want("read", result, 24, 69)

	must(t, w.a.CompareAtomic(args(core.AtomicCSwap, 100, 200), [][]byte{words(24, 0)}, nil, [][]byte{result}, nil,
		core.OpInject))
	next(t, w.qa)
	want("compared", result, 24, 69)
	want("swapped", mem, 1, 100, 69, 4)

	must(t, w.a.InjectAtomic(words(5), 0, 0, 3, core.Uint64, core.AtomicBXor))
	none(t, w.qa)
	none(t, w.qb)
	want("xor", mem, 4, 100, 69, 4)

	w.a.drv.conn.Extended = false // a native peer
	must(t, w.a.Atomic(args(core.AtomicSum, 10, 20), 0))
	var ee core.CQErrEntry
	if err := w.qa.ReadErr(&ee); err != nil || ee.Err != core.ErrOpNotSupp || ee.Ctx != 9 {
		t.Errorf("%v, %+v", err, ee)
	}
}

func TestAtomicArguments(t *testing.T) {
	w, _ := atomicWorld(t)
	res := [][]byte{make([]byte, 16)}
	spoiled := func(f func(m *core.AtomicArgs)) *core.AtomicArgs { m := args(core.AtomicSum, 1, 2); f(m); return m }
	big := make([]byte, 1<<17)
	for name, c := range map[string]struct{ got, want error }{
		"type": {w.a.Atomic(spoiled(func(m *core.AtomicArgs) { m.Type = 200 }), 0), core.ErrOpNotSupp},
		"void": {w.a.Atomic(spoiled(func(m *core.AtomicArgs) { m.Type = core.Void }), 0), core.ErrOpNotSupp},
		"operation": {w.a.Atomic(spoiled(func(m *core.AtomicArgs) { m.Op = core.AtomicCSwap }), 0),
			core.ErrOpNotSupp},
		"noop": {w.a.Atomic(spoiled(func(m *core.AtomicArgs) { m.Op = core.AtomicNoop }), 0),
			core.ErrOpNotSupp},
		"no memory": {w.a.Atomic(spoiled(func(m *core.AtomicArgs) { m.RMAIOC = nil }), 0), core.ErrInval},
		"negative":  {w.a.Atomic(spoiled(func(m *core.AtomicArgs) { m.RMAIOC[0].Count = -1 }), 0), core.ErrInval},
		"operands":  {w.a.Atomic(spoiled(func(m *core.AtomicArgs) { m.IOV = m.IOV[:1] }), 0), core.ErrInval},
		"too many": {w.a.Atomic(&core.AtomicArgs{IOV: [][]byte{big},
			RMAIOC: []core.RMAIoc{{Count: 1 << 14, Key: 3}}, Type: core.Uint64}, 0), core.ErrMsgSize},
		"too many, in": {w.a.Atomic(&core.AtomicArgs{IOV: [][]byte{big},
			RMAIOC: []core.RMAIoc{{Count: 1 << 13, Key: 3}, {Count: 1 << 13, Key: 3}},
			Type:   core.Uint64}, 0), core.ErrMsgSize},
		"flags":       {w.a.Atomic(args(core.AtomicSum, 1, 2), 1<<3), core.ErrBadFlags},
		"result":      {w.a.FetchAtomic(args(core.AtomicSum, 1, 2), nil, nil, 0), core.ErrInval},
		"compare":     {w.a.CompareAtomic(args(core.AtomicCSwap, 1, 2), nil, nil, res, nil, 0), core.ErrInval},
		"inject size": {w.a.InjectAtomic(make([]byte, 72), 0, 0, 3, core.Uint64, core.AtomicSum), core.ErrInval},
		"inject odd":  {w.a.InjectAtomic(make([]byte, 7), 0, 0, 3, core.Uint64, core.AtomicSum), core.ErrInval},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	none(t, w.qa)

	for name, c := range map[string]struct {
		f    func(core.Datatype, core.AtomicOp) (int, error)
		op   core.AtomicOp
		want bool
	}{
		"base": {w.a.AtomicValid, core.AtomicSum, true}, "base read": {w.a.AtomicValid, core.AtomicRead, false},
		"fetch read": {w.a.FetchAtomicValid, core.AtomicRead, true},
		"fetch swap": {w.a.FetchAtomicValid, core.AtomicCSwap, false},
		"compare":    {w.a.CompareAtomicValid, core.AtomicMSwap, true},
	} {
		if n, err := c.f(core.Int128, c.op); (err == nil) != c.want || c.want && n != 4096 || !c.want &&
			err != core.ErrOpNotSupp {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// TestQueryAtomic asks a domain that has atomics and one that has not.
func TestQueryAtomic(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	if _, err := w.d.QueryAtomic(core.Uint64, core.AtomicSum, 0); err != core.ErrOpNotSupp {
		t.Error(err)
	}
	d := newDomainOf(t, w.f, allCaps|core.CapAtomic)
	w.bound = append(w.bound, d)
	for _, c := range []struct {
		op    core.AtomicOp
		flags core.AtomicFlags
		want  error
	}{
		{core.AtomicSum, 0, nil}, {core.AtomicRead, core.AtomicFetch, nil},
		{core.AtomicCSwapGT, core.AtomicCompare, nil}, {core.AtomicSum, core.AtomicCompare, core.ErrOpNotSupp},
		{core.AtomicSum, core.AtomicCompare | core.AtomicFetch, core.ErrBadFlags},
		{core.AtomicSum, 1, core.ErrBadFlags}, {core.AtomicSum, core.AtomicTagged, core.ErrOpNotSupp},
	} {
		a, err := d.QueryAtomic(core.Double, c.op, c.flags)
		if wrong := a != (core.AtomicAttr{Count: 8192, Size: 8}); err != c.want || err == nil && wrong {
			t.Errorf("operation %d, flags %x: %+v, %v, want %v", c.op, uint64(c.flags), a, err, c.want)
		}
	}
}

func TestAtomicNoAllocation(t *testing.T) {
	w, _ := atomicWorld(t)
	sum, swap := args(core.AtomicSum, 1, 2), args(core.AtomicCSwap, 1, 2)
	compare, result, got := [][]byte{words(1, 2)}, [][]byte{make([]byte, 16)}, make([]core.CQEntry, 4)
	one := words(1)
	n := testing.AllocsPerRun(200, func() {
		must(t, w.a.Atomic(sum, 0))
		must(t, w.a.FetchAtomic(sum, result, nil, 0))
		must(t, w.a.CompareAtomic(swap, compare, nil, result, nil, 0))
		must(t, w.a.InjectAtomic(one, 0, 8, 3, core.Uint64, core.AtomicMax))
		if n, err := w.qa.Read(got); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
