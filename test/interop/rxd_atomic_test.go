package interop

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"gofabric/core"
	"gofabric/internal/atomics"
)

// This file tests atomic operations between ours and native. The results must not depend on which end computes them.

// comparands is the offset of a compare operation's comparands behind its operands, as in testdata/peer.c.
const comparands = 65536

// atom is the datatype and operation of an atomic. size is the size of an operand in bytes.
type atom struct {
	dt   core.Datatype
	op   core.AtomicOp
	size int
}

// atomically attempts an atomic operation once.
func (o *ours) atomically(p op) error {
	n := p.length * p.atom.size
	m := &core.AtomicArgs{IOV: [][]byte{o.tx[p.off : p.off+n]}, Addr: o.dest, Type: p.atom.dt,
		Op: p.atom.op, Ctx: core.OpContext(p.ctx)}
	for _, s := range p.segs {
		m.RMAIOC = append(m.RMAIOC, core.RMAIoc{Addr: s.Addr, Count: int(s.Len), Key: s.Key})
	}
	result := [][]byte{o.rx[p.off : p.off+n]}
	switch p.call {
	case "atomic":
		return o.ep.Atomic(m, p.flags)
	case "fetch":
		return o.ep.FetchAtomic(m, result, nil, p.flags)
	}
	from := p.off + comparands
	return o.ep.CompareAtomic(m, [][]byte{o.tx[from : from+n]}, nil, result, nil, p.flags)
}

// set and get write and read the bytes of a buffer of an end.
func (l *link) set(e end, buf string, off int, b []byte) {
	l.t.Helper()
	if n, ok := e.(*native); ok {
		l.tell(n, "set %s %d %s", buf, off, hexData(b))
		return
	}
	copy(l.ours.buffer(buf)[off:], b)
	l.must(l.ours.release())
}

func (l *link) get(e end, buf string, off, n int) []byte {
	l.t.Helper()
	if p, ok := e.(*native); ok {
		b, err := hex.DecodeString(l.tell(p, "get %s %d %d", buf, off, n))
		l.must(err)
		return b
	}
	l.must(l.ours.release())
	return bytes.Clone(l.ours.buffer(buf)[off : off+n])
}

// operands returns count numbers of a type: small, of both signs, and different for each seed.
func operands(dt core.Datatype, size, count, seed int) []byte {
	var b []byte
	for i := range count {
		v := (i*7+seed*5)%23 - 9
		switch dt {
		case core.Float:
			b = binary.NativeEndian.AppendUint32(b, math.Float32bits(float32(v)/2))
		case core.Double:
			b = binary.NativeEndian.AppendUint64(b, math.Float64bits(float64(v)/2))
		case core.FloatComplex:
			b = binary.NativeEndian.AppendUint64(b,
				uint64(math.Float32bits(float32(v)))<<32|uint64(math.Float32bits(float32(3-v))))
		default:
			full := binary.NativeEndian.AppendUint64(nil, uint64(int64(v)))
			b = append(b, full[:size]...) // little-endian, as all machines on which this test runs
		}
	}
	return b
}

var atomicCalls = []struct {
	call string
	kind atomics.Kind
}{{"atomic", atomics.Base}, {"fetch", atomics.FetchKind}, {"compare", atomics.CompareKind}}

var atomicTypes = []core.Datatype{core.Int8, core.Uint8, core.Int16, core.Uint32, core.Int64, core.Uint64,
	core.Float, core.Double, core.FloatComplex}

// TestRXDAtomics runs each operation in both directions, in one and in two segments, and compares native's results
// with ours.
func TestRXDAtomics(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		n := l.natives[0]
		l.join(n, true, nil, nil)
		l.lacking(n)
		for _, c := range atomicCalls {
			for _, dt := range atomicTypes {
				for op := core.AtomicMin; op <= core.AtomicMSwap; op++ {
					if !atomics.Valid(c.kind, atomics.Datatype(dt), atomics.Op(op)) {
						continue
					}
					for _, segs := range []int{1, 2} {
						if segs == 2 && dt != core.Uint32 {
							continue
						}
						a := atom{dt, op, atomics.Size(atomics.Datatype(dt))}
						ok := l.sub(fmt.Sprintf("%s %v %v %d", c.call, dt, op, segs), func() {
							theirs := l.atomic(l.ours, n, c.call, a, segs)
							if mine := l.atomic(n, l.ours, c.call, a, segs); !bytes.Equal(mine, theirs) {
								l.t.Errorf("native computes %x, we %x", theirs, mine)
							}
						})
						if !ok {
							return
						}
					}
				}
			}
		}
		l.flush(l.ours, n)
		l.flush(n, l.ours)
	})
}

// atomic runs one operation on three operands. It returns the memory afterwards and the fetched values.
func (l *link) atomic(from, to end, call string, a atom, segs int) []byte {
	l.t.Helper()
	const count, guard = 3, 8
	n := count * a.size
	p := op{call: call, ctx: l.context(), length: count, atom: a, flags: core.OpDeliveryComplete}
	p.segs = []core.RMAIov{{Addr: 64, Len: count, Key: keyAll}}
	if segs == 2 {
		p.segs = []core.RMAIov{{Addr: 64, Len: 1, Key: keyAll}, {Addr: 128, Len: count - 1, Key: keyHalf}}
	}
	l.set(from, "tx", 0, operands(a.dt, a.size, count, 1))
	l.set(from, "tx", comparands, operands(a.dt, a.size, count, 2))
	l.set(from, "rx", 0, make([]byte, n+guard))
	was := operands(a.dt, a.size, count, 2+int(a.op)%2) // half of the comparisons are true
	at := 0
	for _, s := range p.segs {
		k := int(s.Len) * a.size
		l.set(to, "mem", where(s), append(bytes.Clone(was[at:at+k]), make([]byte, guard)...))
		at += k
	}
	l.post(from, p)
	l.good(from, p.ctx)
	var got []byte
	for _, s := range p.segs {
		got = append(got, l.get(to, "mem", where(s), int(s.Len)*a.size+guard)...)
	}
	result := l.get(from, "rx", 0, n+guard)
	if call != "atomic" && !bytes.Equal(result[:n], was) {
		l.t.Errorf("%T fetched %x from %T, want %x", from, result[:n], to, was)
	}
	return append(got, result...)
}

// lacking posts operations to native that would crash it. They must fail at our end, and native serves the operations
// after them.
func (l *link) lacking(n *native) {
	l.t.Helper()
	for _, dt := range []core.Datatype{core.DoubleComplex, core.LongDouble, core.Int128, core.Uint128} {
		p := op{call: "atomic", ctx: l.context(), length: 1,
			atom: atom{dt, core.AtomicSum, atomics.Size(atomics.Datatype(dt))}}
		p.segs = []core.RMAIov{{Addr: 64, Len: 1, Key: keyAll}}
		l.post(l.ours, p)
		if c := l.want(l.ours, p.ctx); c.err != core.ErrOpNotSupp {
			l.t.Errorf("%v: %v", dt, c.err)
		}
	}
}
