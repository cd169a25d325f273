package endpoint_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"gofabric/core"
)

// numbers returns the bytes of some 32-bit numbers.
func numbers(list ...uint32) (b []byte) {
	for _, x := range list {
		b = binary.NativeEndian.AppendUint32(b, x)
	}
	return b
}

// collCall is a collective operation with its meaning. in is the data of all members, count numbers each, or count
// numbers for each member.
type collCall struct {
	name   string
	rooted bool
	parts  bool // a member's data has a part for each member
	post   func(e *core.Endpoint, in, out []byte, count int, g, root core.FIAddr, ctx core.OpContext) error
	// want returns what the member with a rank gets. nil: nothing.
	want func(in [][]uint32, rank, root, count int) []uint32
}

// sum adds the data of all members.
func sum(in [][]uint32) (s []uint32) {
	s = make([]uint32, len(in[0]))
	for _, list := range in {
		for i, x := range list {
			s[i] += x
		}
	}
	return s
}

var collCalls = []collCall{
	{"broadcast", true, false,
		func(e *core.Endpoint, in, out []byte, count int, g, root core.FIAddr, ctx core.OpContext) error {
			copy(out, in)
			return e.Broadcast(out, count, 0, g, root, core.Uint32, 0, ctx)
		},
		func(in [][]uint32, _, root, _ int) []uint32 { return in[root] }},
	{"alltoall", false, true,
		func(e *core.Endpoint, in, out []byte, count int, g, _ core.FIAddr, ctx core.OpContext) error {
			return e.AllToAll(in, count, 0, out, 0, g, core.Uint32, 0, ctx)
		},
		func(in [][]uint32, rank, _, count int) (out []uint32) {
			for _, list := range in {
				out = append(out, list[rank*count:(rank+1)*count]...)
			}
			return out
		}},
	{"allreduce", false, false,
		func(e *core.Endpoint, in, out []byte, count int, g, _ core.FIAddr, ctx core.OpContext) error {
			return e.AllReduce(in, count, 0, out, 0, g, core.Uint32, core.AtomicSum, 0, ctx)
		},
		func(in [][]uint32, _, _, _ int) []uint32 { return sum(in) }},
	{"allgather", false, false,
		func(e *core.Endpoint, in, out []byte, count int, g, _ core.FIAddr, ctx core.OpContext) error {
			return e.AllGather(in, count, 0, out, 0, g, core.Uint32, 0, ctx)
		},
		func(in [][]uint32, _, _, _ int) (out []uint32) {
			for _, list := range in {
				out = append(out, list...)
			}
			return out
		}},
	{"reducescatter", false, true,
		func(e *core.Endpoint, in, out []byte, count int, g, _ core.FIAddr, ctx core.OpContext) error {
			return e.ReduceScatter(in, count, 0, out, 0, g, core.Uint32, core.AtomicSum, 0, ctx)
		},
		func(in [][]uint32, rank, _, count int) []uint32 { return sum(in)[rank*count : (rank+1)*count] }},
	{"reduce", true, false,
		func(e *core.Endpoint, in, out []byte, count int, g, root core.FIAddr, ctx core.OpContext) error {
			return e.Reduce(in, count, 0, out, 0, g, root, core.Uint32, core.AtomicSum, 0, ctx)
		},
		func(in [][]uint32, rank, root, _ int) []uint32 {
			if rank != root {
				return nil
			}
			return sum(in)
		}},
	{"scatter", true, true,
		func(e *core.Endpoint, in, out []byte, count int, g, root core.FIAddr, ctx core.OpContext) error {
			return e.Scatter(in, count, 0, out, 0, g, root, core.Uint32, 0, ctx)
		},
		func(in [][]uint32, rank, root, count int) []uint32 { return in[root][rank*count : (rank+1)*count] }},
	{"gather", true, false,
		func(e *core.Endpoint, in, out []byte, count int, g, root core.FIAddr, ctx core.OpContext) error {
			return e.Gather(in, count, 0, out, 0, g, root, core.Uint32, 0, ctx)
		},
		func(in [][]uint32, rank, root, _ int) (out []uint32) {
			if rank != root {
				return nil
			}
			for _, list := range in {
				out = append(out, list...)
			}
			return out
		}},
}

// TestCollectives: each operation does what it means, for groups of all small sizes and every root. Members whose
// numbers are not their ranks begin one after the other.
func TestCollectives(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 6} {
		m := newMesh(t, n, room, 0)
		var members []int
		for i := range n {
			members = append(members, (i*5+1)%n) // 5 and 6 have no common factor: each once
		}
		if n == 5 {
			members = []int{3, 0, 4, 1, 2}
		}
		mc := m.joined(members...)
		for _, c := range collCalls {
			roots := 1
			if c.rooted {
				roots = n
			}
			for root := range roots {
				for _, count := range []int{0, 1, 3} {
					m.collective(c, mc, members, root, count)
				}
			}
		}
	}
}

// collective executes an operation at all members and checks its results.
func (m *mesh) collective(c collCall, mc []*core.MC, members []int, root, count int) {
	m.t.Helper()
	n := len(members)
	in, out := make([][]uint32, n), make([][]byte, n)
	for rank := range in {
		size := count
		if c.parts {
			size *= n
		}
		for i := range size {
			in[rank] = append(in[rank], uint32(1000*(rank+1)+i))
		}
		in[rank] = append(in[rank][:0:0], in[rank]...)
		out[rank] = bytes.Repeat([]byte{0xee}, 4*count*n+4)
	}
	for k := range n {
		rank := (k + 1) % n
		i := members[rank]
		must(m.t, c.post(m.all[i].Endpoint, numbers(in[rank]...), out[rank], count, mc[rank].Addr(), core.FIAddr(members[root]), 9))
		if k%2 == 0 {
			m.flow()
		}
	}
	m.flow()
	for rank, i := range members {
		m.wantEnds(i, "9")
		want := numbers(c.want(in, rank, root, count)...)
		got := out[rank][:len(want)]
		if !bytes.Equal(got, want) {
			m.t.Errorf("%s, %d members, root %d, count %d: rank %d has % x, want % x", c.name, n, root, count, rank, got, want)
		}
		if c.name != "broadcast" && len(want) > 0 && out[rank][len(want)] != 0xee {
			m.t.Errorf("%s, %d members: rank %d wrote beyond its result", c.name, n, rank)
		}
	}
}

// TestSeveral: operations of a group may be under way together. Each takes its own messages.
func TestSeveral(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	mc := m.joined(0, 1, 2)
	other := m.joined(0, 1, 2) // another group of the same members
	out := make([][2]uint32, 3)
	res := make([][][]byte, 3)
	for i := range 3 {
		e, g := m.all[i], mc[i].Addr()
		res[i] = [][]byte{make([]byte, 4), make([]byte, 4)}
		must(t, e.AllReduce(numbers(uint32(i+1)), 1, 0, res[i][0], 0, g, core.Uint32, core.AtomicSum, 0, 1))
		must(t, e.Barrier(g, 2))
		must(t, e.AllReduce(numbers(uint32(i+1)), 1, 0, res[i][1], 0, other[i].Addr(), core.Uint32, core.AtomicMax, 0, 3))
		m.flow()
	}
	for i := range 3 {
		m.wantEnds(i, "1, 2, 3")
		out[i] = [2]uint32{binary.NativeEndian.Uint32(res[i][0]), binary.NativeEndian.Uint32(res[i][1])}
		if out[i] != [2]uint32{6, 3} {
			t.Errorf("member %d: %v, want a sum of 6 and a maximum of 3", i, out[i])
		}
	}
}

// TestCollectiveArguments: calls that fail at once.
func TestCollectiveArguments(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	mc := m.joined(0, 1, 2)
	x, g := m.all[0], mc[0].Addr()
	barriers := m.joinAll(core.AVSetBarrier)
	buf, big := make([]byte, 8), make([]byte, 24)
	const u32, sum = core.Uint32, core.AtomicSum
	for _, tt := range []struct {
		name string
		err  error
		want core.Errno
	}{
		{"unknown flags", x.Barrier2(g, core.OpPeek, 1), core.ErrBadFlags},
		{"no group", x.Barrier(0, 1), core.ErrInval},
		{"unknown group", x.Barrier(g+100, 1), core.ErrInval},
		{"not what the set is for", x.AllReduce(buf, 1, 0, buf, 0, barriers[0].Addr(), u32, sum, 0, 1), core.ErrOpNotSupp},
		{"unknown type", x.AllReduce(buf, 1, 0, buf, 0, g, 200, sum, 0, 1), core.ErrOpNotSupp},
		{"an operation that is no reduction", x.AllReduce(buf, 1, 0, buf, 0, g, u32, core.AtomicWrite, 0, 1), core.ErrOpNotSupp},
		{"bits of a float", x.AllReduce(buf, 1, 0, buf, 0, g, core.Float, core.AtomicBXor, 0, 1), core.ErrOpNotSupp},
		{"negative count", x.AllReduce(buf, -1, 0, buf, 0, g, u32, sum, 0, 1), core.ErrInval},
		{"huge count", x.AllReduce(buf, core.MaxSize/4, 0, buf, 0, g, u32, sum, 0, 1), core.ErrInval},
		{"root is no member", x.Broadcast(buf, 1, 0, g, 77, u32, 0, 1), core.ErrInval},
		{"short buffer", x.AllReduce(buf, 3, 0, big, 0, g, u32, sum, 0, 1), core.ErrInval},
		{"short result", x.AllReduce(big, 3, 0, buf, 0, g, u32, sum, 0, 1), core.ErrInval},
		{"short broadcast", x.Broadcast(buf, 3, 0, g, 0, u32, 0, 1), core.ErrInval},
		{"short part", x.AllToAll(buf, 1, 0, big, 0, g, u32, 0, 1), core.ErrInval},
		{"short parts", x.AllToAll(big, 1, 0, buf, 0, g, u32, 0, 1), core.ErrInval},
		{"short gather at the root", x.Gather(buf, 1, 0, buf, 0, g, 0, u32, 0, 1), core.ErrInval},
		{"short scatter at the root", x.Scatter(buf, 1, 0, buf, 0, g, 0, u32, 0, 1), core.ErrInval},
		{"short reduce at the root", x.Reduce(big, 3, 0, nil, 0, g, 0, u32, sum, 0, 1), core.ErrInval},
		{"short reduce-scatter", x.ReduceScatter(buf, 1, 0, buf, 0, g, u32, sum, 0, 1), core.ErrInval},
		{"short allgather", x.AllGather(buf, 1, 0, buf, 0, g, u32, 0, 1), core.ErrInval},
	} {
		if tt.err != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
	// What is needed at the root only may be missing elsewhere.
	must(t, m.all[1].Gather(buf, 1, 0, nil, 0, mc[1].Addr(), 0, u32, 0, 1))
	must(t, m.all[1].Scatter(nil, 1, 0, buf, 0, mc[1].Addr(), 0, u32, 0, 2))
	must(t, m.all[1].Reduce(buf, 1, 0, nil, 0, mc[1].Addr(), 0, u32, sum, 0, 3))
	must(t, m.all[0].Barrier(barriers[0].Addr(), 4))

	early := m.join(0, 0, 1)
	if err := x.Barrier(early.Addr(), 1); err != core.ErrOpBadState {
		t.Errorf("before the join is complete: %v", err)
	}
	must(t, early.Close())
	if err := x.Barrier(early.Addr(), 1); err != core.ErrInval {
		t.Errorf("after the group was closed: %v", err)
	}
	info := meshInfo(5)
	info.Caps &^= core.CapCollective
	e := opened(t, m.d.OpenEndpoint, info)
	if err := e.Barrier(g, 1); err != core.ErrOpNotSupp {
		t.Errorf("without the capability: %v", err)
	}
	must(t, e.Close())
	e = opened(t, m.d.OpenEndpoint, meshInfo(5))
	if err := e.Barrier(g, 1); err != core.ErrOpBadState {
		t.Errorf("not enabled: %v", err)
	}
	must(t, e.Close())
}

// joinAll makes all endpoints join a group whose set has flags.
func (m *mesh) joinAll(flags core.AVSetFlags) (mc []*core.MC) {
	m.t.Helper()
	var members []int
	for i := range m.all {
		members = append(members, i)
	}
	for i := range m.all {
		mc = append(mc, m.joinSet(i, m.set(m.all[i], members, flags)))
	}
	m.flow()
	for i := range m.all {
		m.event(i, mc[i], "joined")
	}
	return mc
}

// TestQueryCollective: a domain describes the operations of its endpoints, and refuses those that they do not have.
func TestQueryCollective(t *testing.T) {
	m := newMesh(t, 1, room, 0)
	d := m.d
	plain := newDomain(t, newFabric())
	type attr = core.CollectiveAttr
	for _, tt := range []struct {
		name  string
		d     *core.Domain
		op    core.CollectiveOp
		attr  *attr
		flags uint64
		want  error
	}{
		{"no attributes", d, core.CollBarrier, nil, 0, core.ErrInval},
		{"a mode", d, core.CollBarrier, &attr{Mode: 1}, 0, core.ErrInval},
		{"flags", d, core.CollBarrier, &attr{}, 1, core.ErrBadFlags},
		{"unknown operation", d, core.CollGather + 1, &attr{}, 0, core.ErrOpNotSupp},
		{"no capability", plain.Domain, core.CollBarrier, &attr{}, 0, core.ErrOpNotSupp},
		{"bits of a float", d, core.CollAllReduce, &attr{Type: core.Float, Op: core.AtomicBXor}, 0, core.ErrOpNotSupp},
		{"no reduction", d, core.CollReduce, &attr{Type: core.Uint32, Op: core.AtomicCSwap}, 0, core.ErrOpNotSupp},
		{"barrier", d, core.CollBarrier, &attr{Type: core.Uint32}, 0, nil},
		{"sum", d, core.CollReduceScatter, &attr{Type: core.Uint32, Op: core.AtomicSum}, 0, nil},
		{"moved", d, core.CollGather, &attr{Type: core.Double, Op: core.AtomicCSwap}, 0, nil},
	} {
		err := tt.d.QueryCollective(tt.op, tt.attr, tt.flags)
		if err != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if err != nil {
			continue
		}
		size := map[string]int{"barrier": 0, "sum": 4, "moved": 8}[tt.name]
		if a := tt.attr; a.MaxMembers != 1<<16 || a.Attr.Size != size || (size == 0) != (a.Attr.Count == 0) || size > 0 && a.Attr.Count != core.MaxSize/size {
			t.Errorf("%s: %+v", tt.name, *a)
		}
	}
	must(t, plain.Close())
}

// TestSize: operations count against the size of the transmit context. One that finds no room is repeated by the
// application.
func TestSize(t *testing.T) {
	m := newMesh(t, 2, room, 0)
	mc := m.joined(0, 1)
	for ctx := range 4 { // Tx.Size
		must(t, m.all[0].Barrier(mc[0].Addr(), core.OpContext(ctx)))
	}
	if err := m.all[0].Barrier(mc[0].Addr(), 4); err != core.ErrAgain {
		t.Errorf("one more: %v, want FI_EAGAIN", err)
	}
	must(t, m.all[1].Barrier(mc[1].Addr(), 0))
	m.flow()
	m.wantEnds(0, "0")
	must(t, m.all[0].Barrier(mc[0].Addr(), 4))
	for ctx := range 4 {
		must(t, m.all[1].Barrier(mc[1].Addr(), core.OpContext(ctx+1)))
	}
	m.flow()
	m.wantEnds(0, "1, 2, 3, 4")
	m.wantEnds(1, "0, 1, 2, 3, 4")
}

// TestNoRoom: a connection has no room for a step of an operation. The step is repeated in a later pass.
func TestNoRoom(t *testing.T) {
	m := newMesh(t, 3, 64, 0)
	mc := m.joined(0, 1, 2)
	m.held = [2]int{0, 1}
	c := m.all[0].drv.conns[1]
	n := 0
	for ; m.all[0].Inject(make([]byte, 32), 1) == nil; n++ {
	}
	for range n {
		must(t, m.all[1].Recv(make([]byte, 32), 0, core.AddrUnspec, 5))
	}
	queued := c.Queued()
	out := make([][]byte, 3)
	for i := range 3 {
		out[i] = make([]byte, 12)
		must(t, m.all[i].AllGather(numbers(uint32(i)), 1, 0, out[i], 0, mc[i].Addr(), core.Uint32, 0, 1))
	}
	m.flow()
	if c.Queued() != queued {
		t.Error("the step was queued, though there is no room")
	}
	for i := range 2 {
		m.wantEnds(i, "")
	}
	m.held = [2]int{}
	m.locked(func() { move(c, m.all[1].drv.conns[0]) })
	if k, err := m.all[1].q.Read(make([]core.CQEntry, n+1)); k != n || err != nil {
		t.Errorf("%d of %d messages, %v", k, n, err)
	}
	m.flow()
	for i := range 3 {
		m.wantEnds(i, "1")
		if !bytes.Equal(out[i], numbers(0, 1, 2)) {
			t.Errorf("member %d has % x", i, out[i])
		}
	}
}

// TestSelectiveCollective: with selective completion only operations that ask for it have an entry. The counter for writes
// counts all.
func TestSelectiveCollective(t *testing.T) {
	m := newMesh(t, 2, room, core.BindSelectiveCompletion)
	mc := m.joined(0, 1)
	for ctx, flags := range []core.OpFlags{0, core.OpCompletion, core.OpMore} {
		for i := range 2 {
			must(t, m.all[i].Barrier2(mc[i].Addr(), flags, core.OpContext(ctx)))
		}
	}
	m.flow()
	for i := range 2 {
		m.wantEnds(i, "1")
	}
	must(t, m.all[0].Barrier2(mc[0].Addr(), 0, 7)) // a failure has an entry
	m.flow()
	must(t, mc[1].Close()) // it has no operation, and refuses the step that has arrived
	m.flow()
	m.wantEnds(0, "7: Connection reset by peer")
}

// TestCollectiveAllocations: an operation allocates nothing once its memory is there.
func TestCollectiveAllocations(t *testing.T) {
	m := newMesh(t, 2, room, 0)
	mc := m.joined(0, 1)
	buf := [2][]byte{numbers(1), numbers(2)}
	out := [2][]byte{make([]byte, 4), make([]byte, 4)}
	var e [4]core.CQEntry
	allocs := testing.AllocsPerRun(100, func() {
		for i := range 2 {
			must(t, m.all[i].AllReduce(buf[i], 1, 0, out[i], 0, mc[i].Addr(), core.Uint32, core.AtomicSum, 0, 1))
		}
		m.flow()
		for i := range 2 {
			if n, err := m.all[i].q.Read(e[:]); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
	})
	if allocs > 0 || !bytes.Equal(out[1], numbers(3)) {
		t.Errorf("%v allocations, result % x", allocs, out[1])
	}
}
