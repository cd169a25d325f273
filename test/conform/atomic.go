package conform

// Atomic operations (fi_atomic(3)): every datatype with every operation in every kind of call, permissions, counters,
// order.

import (
	"bytes"
	"fmt"
	"testing"

	"gofabric/core"
	"gofabric/internal/atomics"
)

// atomicOperands is the number of operands in the table's operations. They fit into one datagram of native's.
const atomicOperands = 6

func testAtomic(t *testing.T, st Stack) {
	if !st.need(t, core.CapAtomic) { // testControl checks that the calls refuse it, too
		return
	}
	t.Run("table", func(t *testing.T) { atomicTable(t, st) })
	t.Run("count", func(t *testing.T) { atomicCount(t, st) })
	t.Run("access", func(t *testing.T) { atomicAccess(t, st) })
}

// atomicTable tries everything that a Valid call reports as supported. The rest must be refused, and so must
// operations that would crash a native peer.
func atomicTable(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapAtomic|core.CapRMA))
	mem := make([]byte, 16*atomicOperands+16)
	mr := p.B.Reg(mem, allAccess)
	defer func() { p.B.ok("Close MR", mr.Close()) }()
	ctx, ran := core.OpContext(1), 0
	for dt := core.Int8; dt <= core.Float8E5M2; dt++ {
		for op := core.AtomicMin; op <= core.AtomicDiff; op++ {
			for k, valid := range []func(core.Datatype, core.AtomicOp) (int, error){p.A.EP.AtomicValid,
				p.A.EP.FetchAtomicValid, p.A.EP.CompareAtomicValid} {
				ctx++
				n, err := valid(dt, op)
				if err == nil && n < 1 {
					t.Fatalf("type %d, operation %d: %d operands", dt, op, n)
				}
				if atomicOnce(p, mr, mem, dt, op, atomics.Kind(k), ctx, err == nil) {
					ran++
				}
			}
		}
	}
	if ran < 300 {
		t.Errorf("only %d combinations are supported", ran)
	}
}

// atomicOnce does one operation and compares memory and result with its own computation. It reports whether the
// operation is supported.
func atomicOnce(p *Pair, mr *core.MemoryRegion, mem []byte, dt core.Datatype, op core.AtomicOp, k atomics.Kind,
	ctx core.OpContext, valid bool) bool {
	t := p.T
	t.Helper()
	what := fmt.Sprintf("type %d, operation %d, kind %d", dt, op, k)
	size := max(atomics.Size(atomics.Datatype(dt)), 1)
	n := size * min(atomicOperands, 64/size)
	seed := uint64(ctx)
	operand, compare, result := Pattern(n, seed+1), Pattern(n, seed), make([]byte, n)
	copy(compare[n/2:], operand)
	p.Progress()
	copy(mem[8:], Pattern(len(mem)-8, seed))
	was := bytes.Clone(mem)
	want, wantResult := bytes.Clone(mem), make([]byte, n)
	m := &core.AtomicArgs{IOV: p.A.tx(operand, 2), Addr: p.A.Peer,
		RMAIOC: []core.RMAIoc{{Addr: mr.Base() + 8, Count: n / size, Key: mr.Key()}}, Type: dt, Op: op, Ctx: ctx}
	post := func() error { return p.A.EP.Atomic(m, core.OpDeliveryComplete) }
	local := func() error { return atomics.Apply(atomics.Datatype(dt), atomics.Op(op), want[8:8+n], operand) }
	switch k {
	case atomics.FetchKind:
		post = func() error { return p.A.EP.FetchAtomic(m, p.A.tx(result, 3), nil, 0) }
		local = func() error {
			return atomics.Fetch(atomics.Datatype(dt), atomics.Op(op), want[8:8+n], operand, wantResult)
		}
	case atomics.CompareKind:
		post = func() error { return p.A.EP.CompareAtomic(m, p.A.tx(compare, 2), nil, [][]byte{result}, nil, 0) }
		local = func() error {
			return atomics.Compare(atomics.Datatype(dt), atomics.Op(op), want[8:8+n], operand, compare, wantResult)
		}
	}
	if !valid {
		refuse(t, what, post(), core.ErrOpNotSupp, core.ErrInval)
		return false
	}
	if p.Stack.Foreign && !atomics.Native(atomics.Datatype(dt), atomics.Op(op)) { // a native peer would crash
		p.Retry(what, post)
		p.WantErr(p.A, ctx, core.ErrOpNotSupp)
		if p.Progress(); !bytes.Equal(mem, was) {
			t.Fatalf("%s: refused, but executed: memory\n%x, was\n%x", what, mem, was)
		}
		return false
	}
	if err := local(); err != nil {
		t.Fatalf("%s: reported as supported, but: %v", what, err)
	}
	p.Retry(what, post)
	g := p.Want(p.A, ctx)
	flags := core.CompAtomic | core.CompRead
	if k == atomics.Base {
		flags = core.CompAtomic | core.CompWrite
	}
	if g.Flags&(core.CompAtomic|core.CompRMA|core.CompRead|core.CompWrite) != flags {
		t.Errorf("%s: flags %#x", what, uint64(g.Flags))
	}
	p.Progress()
	if !bytes.Equal(mem, want) {
		t.Fatalf("%s: memory\n%x, was\n%x, want\n%x", what, mem, was, want)
	}
	if !bytes.Equal(result, wantResult) {
		t.Fatalf("%s: result %x, want %x", what, result, wantResult)
	}
	return true
}

// atomicCount adds to one number with injected, plain and fetching operations at the same time. No addition is lost,
// and each fetch returns another number.
func atomicCount(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapAtomic|core.CapRMA))
	const rounds = 100
	mem := make([]byte, 8)
	mr := p.B.Reg(mem, allAccess)
	defer func() { p.B.ok("Close MR", mr.Close()) }()
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	m := &core.AtomicArgs{IOV: [][]byte{one}, Addr: p.A.Peer,
		RMAIOC: []core.RMAIoc{{Addr: mr.Base(), Count: 1, Key: mr.Key()}}, Type: core.Uint64, Op: core.AtomicSum}
	results := make([][]byte, rounds)
	for i := range results {
		results[i] = make([]byte, 8)
		p.Retry("inject", func() error {
			return p.A.EP.InjectAtomic(one, p.A.Peer, mr.Base(), mr.Key(), core.Uint64, core.AtomicSum)
		})
		m.Ctx = core.OpContext(1000 + i)
		p.Retry("atomic", func() error { return p.A.EP.Atomic(m, 0) })
		m.Ctx = core.OpContext(2000 + i)
		p.Retry("fetch", func() error { return p.A.EP.FetchAtomic(m, results[i:i+1], nil, 0) })
	}
	for i := range results {
		p.Want(p.A, core.OpContext(1000+i))
		p.Want(p.A, core.OpContext(2000+i))
		want := make([]byte, 8)
		for range 3*i + 2 {
			_ = atomics.Apply(atomics.Uint64, atomics.Sum, want, one)
		}
		if !bytes.Equal(results[i], want) {
			t.Errorf("fetch %d returned %x, want %x", i, results[i], want)
		}
	}
}

// atomicAccess checks that memory without the rights is neither changed nor read.
func atomicAccess(t *testing.T, st Stack) {
	for name, access := range map[string]core.Access{"read only": core.AccessRemoteRead,
		"write only": core.AccessRemoteWrite} {
		p := Open(t, st, WithCaps(core.CapAtomic|core.CapRMA))
		mem := Pattern(64, 5)
		mr := p.B.Reg(mem, access)
		operand, result := Pattern(8, 9), make([]byte, 8)
		m := &core.AtomicArgs{IOV: [][]byte{operand}, Addr: p.A.Peer,
			RMAIOC: []core.RMAIoc{{Addr: mr.Base(), Count: 1, Key: mr.Key()}},
			Type:   core.Uint64, Op: core.AtomicSum, Ctx: 77}
		if !p.refusedAtOnce(name, func() error { return p.A.EP.FetchAtomic(m, [][]byte{result}, nil, 0) }) {
			if g := p.WantEnd(p.A, 77, st.bounded()); g.Err == nil {
				t.Errorf("%s: a fetching sum succeeded", name)
			}
		}
		CheckPattern(t, name, mem, len(mem), 5)
		CheckZero(t, name, result)
		p.B.ok("Close MR", mr.Close())
	}
}
