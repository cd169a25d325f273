package session

import (
	"encoding/binary"
	"testing"

	"gofabric/internal/atomics"
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

// words encodes numbers.
func words(v ...uint64) (b []byte) {
	for _, w := range v {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// atomic makes an atomic operation on numbers of key 1.
func atomic(kind xengine.Kind, op atomics.Op, result []byte, operands, compare []uint64, at ...uint64) *xengine.Send {
	s := &xengine.Send{Kind: kind, NRMA: len(at), Atomic: &xengine.Atomic{Type: atomics.Uint64, Op: op}}
	for i, a := range at {
		s.RMA[i] = xwire.RMAIov{Addr: a * 8, Len: 8, Key: 1}
	}
	if operands != nil {
		s.IOV[0], s.NIOV = words(operands...), 1
	}
	if compare != nil {
		s.Atomic.Compare[0], s.Atomic.NCompare = words(compare...), 1
	}
	if result != nil {
		s.Atomic.Result[0], s.Atomic.NResult = result, 1
	}
	return s
}

func TestAtomics(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		n.Link.Loss, n.Link.Dup = 0.1, 0.1
		copy(b.region, words(1, 2, 3, 4))
		r := make([][]byte, 4)
		for i := range r {
			r[i] = make([]byte, 16)
		}
		a.post(b, atomic(xengine.KindAtomic, atomics.Sum, nil, []uint64{10}, nil, 0))
		ack := atomic(xengine.KindAtomic, atomics.Sum, nil, []uint64{10, 20}, nil, 1, 3)
		ack.Ack = true
		a.post(b, ack)
		data := atomic(xengine.KindAtomic, atomics.Sum, nil, []uint64{1}, nil, 2)
		data.HasData, data.Data = true, 55
		a.post(b, data)
		a.post(b, atomic(xengine.KindFetch, atomics.Prod, r[0], []uint64{2, 3}, nil, 0, 1))
		big := make([]byte, 5000)
		a.post(b, rma(xengine.KindRead, 9, big, 0))
		a.post(b, atomic(xengine.KindFetch, atomics.Read, r[1][:8], nil, nil, 3))
		a.post(b, atomic(xengine.KindCompare, atomics.CSwap, r[2][:8], []uint64{77}, []uint64{4}, 2))
		if !n.run(10*second, func() bool {
			return a.count(xengine.KindCompare) == 1 && a.count(xengine.KindAtomic) == 3 && a.count(xengine.KindFetch) == 2
		}) {
			t.Fatalf("%v\n%v %v\n%+v\n%+v", a.done, a.failed, b.failed, a.e.Stats, b.e.Stats)
		}
		for what, p := range map[string][2][]byte{"memory": {b.region[:32], words(22, 36, 77, 24)}, "fetched": {r[0], words(11, 12)}, "read": {r[1][:8], words(24)},
			"compared": {r[2][:8], words(4)}, "read between": {big[:16], words(22, 36)}} {
			if string(p[0]) != string(p[1]) {
				t.Errorf("%s: %x, want %x", what, p[0], p[1])
			}
		}
		seen := 0
		for _, c := range b.done {
			if c.HasData && c.Data == 55 {
				seen++
			}
		}
		if seen != 1 {
			t.Errorf("remote data was reported %d times", seen)
		}
		n.run(second, nil)
	})
}

// TestAtomicTooLongForNative: an atomic operation that does not fit into a native packet fails alone.
func TestAtomicTooLongForNative(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		long := func() *xengine.Send {
			s := &xengine.Send{Kind: xengine.KindAtomic, NRMA: 1, NIOV: 1, Atomic: &xengine.Atomic{Type: atomics.Uint64, Op: atomics.Sum}}
			s.RMA[0] = xwire.RMAIov{Len: 4000, Key: 1}
			s.IOV[0] = make([]byte, 4000)
			return s
		}
		a.post(b, long()) // before the engine knows that the peer is native
		a.post(b, atomic(xengine.KindAtomic, atomics.Sum, nil, []uint64{5}, nil, 0))
		if !n.run(10*second, func() bool { return len(a.done) == 2 }) {
			t.Fatalf("%v\n%v %v", a.done, a.failed, b.failed)
		}
		a.post(b, long())
		if !n.run(10*second, func() bool { return len(a.done) == 3 }) {
			t.Fatalf("%v\n%v %v", a.done, a.failed, b.failed)
		}
		native := a.e.Lookup(b.addr).Native()
		for i, c := range a.done {
			if want := native && i != 1; (c.Err == xengine.ErrTooLong) != want || !want && c.Err != nil {
				t.Errorf("native %v, operation %d: %v", native, i, c.Err)
			}
		}
		if string(b.region[:8]) != string(words(5)) {
			t.Errorf("memory: %x", b.region[:8])
		}
	})
}

// TestAtomicThatNativeLacks: atomic operations that native does not implement are not sent to a native peer. They
// fail alone, and operations after them continue.
func TestAtomicThatNativeLacks(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		lacking := []*xengine.Atomic{
			{Type: atomics.Int128, Op: atomics.Sum}, {Type: atomics.Uint128, Op: atomics.BOr}, {Type: atomics.DoubleComplex, Op: atomics.Sum},
			{Type: atomics.LongDouble, Op: atomics.Sum}, {Type: atomics.LongDoubleComplex, Op: atomics.Sum}, {Type: atomics.Float16, Op: atomics.Sum},
			{Type: atomics.Uint64, Op: atomics.Diff},
		}
		for round := range 2 { // before the engine knows that the peer is native, and afterwards
			a.done = nil
			for _, l := range lacking {
				at := *l
				s := &xengine.Send{Kind: xengine.KindAtomic, NRMA: 1, NIOV: 1, Atomic: &at}
				size := atomics.Size(at.Type)
				s.RMA[0], s.IOV[0] = xwire.RMAIov{Addr: 64, Len: uint64(size), Key: 1}, make([]byte, size)
				s.IOV[0][0] = 1
				a.post(b, s)
			}
			a.post(b, atomic(xengine.KindAtomic, atomics.Sum, nil, []uint64{5}, nil, 0))
			if !n.run(10*second, func() bool { return len(a.done) == len(lacking)+1 }) {
				t.Fatalf("%v\n%v %v", a.done, a.failed, b.failed)
			}
			native, refused := a.e.Lookup(b.addr).Native(), 0
			for _, c := range a.done {
				switch c.Err {
				case nil:
				case xengine.ErrUnsupported:
					refused++
				default:
					t.Errorf("%v", c.Err)
				}
			}
			if want := len(lacking); native && refused != want || !native && refused != 0 {
				t.Errorf("native %v: %d operations refused", native, refused)
			}
			n.run(second, nil)
			if touched := string(b.region[64:96]) != string(make([]byte, 32)); touched == native {
				t.Errorf("native %v: memory %x", native, b.region[64:96])
			}
			if want := words(uint64(5 * (round + 1))); string(b.region[:8]) != string(want) {
				t.Errorf("memory of the next operation: %x, want %x", b.region[:8], want)
			}
		}
	})
}
