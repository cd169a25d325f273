package schedule

// This file tests all operations against their definitions. The simulated network delays messages, and keeps their
// order only between each two members.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gofabric/internal/atomics"
	"gofabric/test/need"
	"gofabric/test/sim/network"
)

// message is a message on its way. Its bytes are read when it is delivered, as lent buffers are.
type message struct {
	from, slot int
	number     uint8
	buf        []byte
}

type want struct {
	from, slot int
	number     uint8
	buf        []byte
}

// member is an Op with the sends and receives that it has posted.
type member struct {
	Op
	wants         []want
	early         []message // copies of messages that arrived before their receive was posted
	started, done bool
}

// run executes one operation at all members. They start at different times.
func run(t interface{ Fatalf(string, ...any) }, args []Args, s *network.Sched, ms []*member) {
	n, left := len(args), len(args)
	last := make([]int64, n*n) // arrival of the latest message from one member to another
	var advance func(i int)
	send := func(k int, p message) {
		last[k] = max(last[k], s.Now+s.Int64N(100))
		s.After(last[k]-s.Now, func() {
			ms[k%n].deliver(t, p)
			ms[p.from].Finished(p.slot)
			advance(k % n)
			advance(p.from)
		})
	}
	advance = func(i int) {
		m := ms[i]
		var x Step
		for m.started && !m.done {
			switch m.Next(&x) {
			case Send:
				send(i*n+x.Peer, message{i, x.Slot, x.Number, x.Buf})
			case Recv:
				w := want{x.Peer, x.Slot, x.Number, x.Buf}
				if !m.match(t, w) {
					m.wants = append(m.wants, w)
				}
			case Done:
				m.done = true
				left--
			case Blocked:
				return
			}
		}
	}
	for i, m := range ms[:n] {
		m.started, m.done = false, false
		s.After(s.Int64N(1000), func() {
			m.started = true
			m.Start(&args[i])
			advance(i)
		})
	}
	for s.Step() {
	}
	if left > 0 {
		t.Fatalf("%d of %d members wait for ever", left, n)
	}
	for i, m := range ms[:n] {
		if len(m.wants) > 0 || len(m.early) > 0 {
			t.Fatalf("member %d: %d receives, %d messages left over", i, len(m.wants), len(m.early))
		}
	}
}

// match delivers to w the first message that has arrived for it.
func (m *member) match(t interface{ Fatalf(string, ...any) }, w want) bool {
	for i, p := range m.early {
		if p.from == w.from && p.number == w.number {
			m.early = append(m.early[:i], m.early[i+1:]...)
			m.take(t, w, p)
			return true
		}
	}
	return false
}

func (m *member) deliver(t interface{ Fatalf(string, ...any) }, p message) {
	for i, w := range m.wants {
		if p.from == w.from && p.number == w.number {
			m.wants = append(m.wants[:i], m.wants[i+1:]...)
			m.take(t, w, p)
			return
		}
	}
	p.buf = bytes.Clone(p.buf)
	m.early = append(m.early, p)
}

func (m *member) take(t interface{ Fatalf(string, ...any) }, w want, p message) {
	if len(w.buf) != len(p.buf) {
		t.Fatalf("a message of %d bytes for a receive of %d", len(p.buf), len(w.buf))
	}
	copy(w.buf, p.buf)
	m.Finished(w.slot)
}

// fill fills b with random bytes.
func fill(s *network.Sched, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, s.Uint64())
	}
	for i := range b {
		b[i] = byte(s.Uint32())
	}
}

// checkAll runs one operation and compares the result of each member with the reference.
func checkAll(t interface{ Fatalf(string, ...any) }, kind Kind, n, root, elems int, typ atomics.Datatype, op atomics.Op,
	inPlace bool, s *network.Sched, ms []*member) {
	size := elems * atomics.Size(typ)
	in := make([][]byte, n)
	args := make([]Args, n)
	for i := range args {
		inLen, outLen := size, size
		switch kind {
		case AllToAll:
			inLen, outLen = n*size, n*size
		case AllGather, Gather:
			outLen = n * size
		case ReduceScatter, Scatter:
			inLen = n * size
		}
		in[i] = make([]byte, inLen)
		fill(s, in[i])
		a := Args{Kind: kind, Members: n, Rank: i, Root: root, Block: size, In: bytes.Clone(in[i]),
			Out: make([]byte, outLen), Type: typ, Op: op}
		fill(s, a.Out)
		switch {
		case kind == Broadcast:
			if a.In = nil; i == root {
				copy(a.Out, in[i])
			}
		case inPlace && (kind == AllReduce || kind == Reduce && i == root):
			a.Out = a.In
		case kind == Scatter && i != root:
			a.In = nil
		case (kind == Reduce || kind == Gather) && i != root:
			a.Out = nil
		case kind == Barrier:
			a = Args{Kind: kind, Members: n, Rank: i}
		}
		args[i] = a
	}
	run(t, args, s, ms)
	for i := range args {
		if want := reference(args[i], in); want != nil && !bytes.Equal(want, args[i].Out[:len(want)]) {
			t.Fatalf("kind %d, %d members, root %d, %d elements of type %d, op %d, in place %v: member %d has a wrong result", kind, n, root, elems, typ, op, inPlace, i)
		}
	}
}

// reference returns the expected Out of a member, or nil if Out must not change.
func reference(a Args, in [][]byte) []byte {
	sum := func() []byte {
		s := bytes.Clone(in[0])
		for _, b := range in[1:] {
			atomics.Apply(a.Type, a.Op, s, b)
		}
		return s
	}
	var out []byte
	switch a.Kind {
	case Broadcast:
		return in[a.Root]
	case AllToAll:
		for i := range in {
			out = append(out, block(in[i], a.Rank, a.Block)...)
		}
	case AllReduce:
		return sum()
	case Reduce:
		if a.Rank == a.Root {
			return sum()
		}
	case ReduceScatter:
		return block(sum(), a.Rank, a.Block)
	case AllGather:
		return bytes.Join(in, nil)
	case Gather:
		if a.Rank == a.Root {
			return bytes.Join(in, nil)
		}
	case Scatter:
		return block(in[a.Root], a.Rank, a.Block)
	}
	return out
}

func members(n int) []*member {
	ms := make([]*member, n)
	for i := range ms {
		ms[i] = &member{}
	}
	return ms
}

// large reports whether an operation has an algorithm for hundreds of thousands of bytes. Such operations are tested
// with as many.
func large(kind Kind, n, root int) bool {
	return (kind == AllReduce || kind == Broadcast || kind == Reduce) && n <= 6 && root < 2
}

// TestAll tests numbers of members, roots and sizes on both sides of each change of the algorithm.
func TestAll(t *testing.T) {
	ms := members(17)
	s := network.NewSched(1)
	for n := 1; n <= 17; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			for kind := Barrier; kind <= Gather; kind++ {
				for root := range n {
					for _, elems := range []int{0, 1, 3, 17, 1025, 4500, 9001, 40000, 140000} {
						if rooted := kind == Broadcast || kind == Reduce || kind == Scatter ||
							kind == Gather; !rooted && root > 0 || kind == Barrier && elems > 0 {
							continue
						}
						if need.Raced && elems > 1025 {
							continue
						}
						if elems > 1000 && root > 2 && root != n-1 || elems > 10000 && !large(kind, n, root) {
							continue
						}
						checkAll(t, kind, n, root, elems, atomics.Uint64, atomics.Sum, elems%2 == 0, s, ms)
					}
				}
			}
		})
	}
}

// TestAny draws all arguments at random.
func TestAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 17).Draw(t, "members")
		typ := rapid.SampledFrom([]atomics.Datatype{atomics.Int8, atomics.Uint16, atomics.Int32, atomics.Uint64,
			atomics.Int128}).Draw(t, "type")
		op := rapid.SampledFrom([]atomics.Op{atomics.Min, atomics.Max, atomics.Sum, atomics.Prod, atomics.LOr,
			atomics.LAnd, atomics.BXor}).Draw(t, "op")
		kind := rapid.Custom(func(t *rapid.T) Kind { return Kind(rapid.IntRange(0, int(Gather)).Draw(t, "kind")) }).Draw(t, "kind")
		elems := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 70000/atomics.Size(typ))).Draw(t, "elements")
		seed := rapid.Uint64().Draw(t, "seed")
		checkAll(t, kind, n, rapid.IntRange(0, n-1).Draw(t, "root"), elems, typ, op, rapid.Bool().Draw(t, "in place"),
			network.NewSched(seed), members(n))
	})
}

// TestSameBits checks that every member has the same bits of a sum of floating-point numbers.
func TestSameBits(t *testing.T) {
	s := network.NewSched(7)
	for n := 2; n <= 17; n++ {
		for _, elems := range []int{5, 3001, 20000, 140000} {
			if elems > 20000 && n > 5 {
				continue
			}
			args := make([]Args, n)
			for i := range args {
				args[i] = Args{Kind: AllReduce, Members: n, Rank: i, Block: 8 * elems, In: make([]byte, 8*elems),
					Out: make([]byte, 8*elems), Type: atomics.Double, Op: atomics.Sum}
				fill(s, args[i].In)
				for k := 7; k < len(args[i].In); k += 8 {
					args[i].In[k] = 0x40 // moderate numbers, no NaN
				}
			}
			run(t, args, s, members(n))
			for i := range args {
				if !bytes.Equal(args[i].Out, args[0].Out) {
					t.Fatalf("%d members, %d elements: member %d has another result than member 0", n, elems, i)
				}
			}
		}
	}
}

// TestNoAllocs checks that an Op that is reused allocates nothing.
func TestNoAllocs(t *testing.T) {
	var o Op
	for kind := Barrier; kind <= Gather; kind++ {
		for _, size := range []int{8, 32 << 10, 512 << 10} {
			a := Args{Kind: kind, Members: 6, Rank: 3, Root: 1, Block: size, In: make([]byte, 6*size),
				Out: make([]byte, 6*size), Type: atomics.Double, Op: atomics.Sum}
			f := func() {
				o.Start(&a)
				var s Step
				for v := o.Next(&s); v != Done; v = o.Next(&s) {
					if v == Blocked {
						for i := range o.prog[:o.pc] {
							o.Finished(i)
						}
					}
				}
				o.Reset()
			}
			f()
			if got := testing.AllocsPerRun(20, f); got != 0 {
				t.Errorf("kind %d, %d bytes: %v allocations", kind, size, got)
			}
		}
	}
}
