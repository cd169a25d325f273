package conform

// Collective operations (fi_collective(3)): every operation with its result, groups of all sizes, several at once,
// together with ordinary traffic.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"gofabric/core"
)

// world is some endpoints that know each other. An index means the same to all of them.
type world struct {
	*Pair
	all []*Side
	fi  [][]core.FIAddr // by side, then by peer
	ctx core.OpContext
}

// openWorld opens n endpoints with an event queue each.
func openWorld(t *testing.T, st Stack, n int, opts ...Option) *world {
	t.Helper()
	opts = append(opts, WithCaps(core.CapCollective), WithBefore(func(s *Side) {
		s.EQ = must(t, "OpenEQ", func() (*core.EventQueue, error) { return s.Fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}) })
		s.ok("BindEQ", s.EP.BindEQ(s.EQ, 0))
	}))
	if st.Offers(t, core.CapCollective|core.CapTagged) {
		opts = append(opts, WithCaps(core.CapTagged))
	}
	w := &world{ctx: 0x5000}
	var first *Side
	for i := range n {
		s := openSide(t, st, fmt.Sprint("ep", i), makeConfig(opts), first)
		if first == nil && st.OneDomain {
			first = s
		}
		s.openEP(s.Info)
		s.Addr = must(t, "Name", s.EP.Name)
		w.all = append(w.all, s)
	}
	w.Pair = &Pair{T: t, Stack: st, A: w.all[0], B: w.all[min(1, n-1)], extra: w.all[min(2, n):]}
	for _, s := range w.all {
		var list []core.FIAddr
		for _, o := range w.all {
			list = append(list, s.Insert(o.Addr))
		}
		w.fi = append(w.fi, list)
	}
	return w
}

// close closes all objects, last the domain that several sides share.
func (w *world) close() {
	w.T.Helper()
	for i := len(w.all) - 1; i >= 0; i-- {
		w.all[i].CloseEP()
	}
	for i := len(w.all) - 1; i >= 0; i-- {
		w.all[i].Close()
	}
}

// club is a group with the objects of its members, indexed by rank.
type club struct {
	w       *world
	members []int // the members' sides
	sets    []*core.AVSet
	mc      []*core.MC
}

// setOf makes a side's set of some endpoints.
func (w *world) setOf(side int, members []int) *core.AVSet {
	w.T.Helper()
	set := must(w.T, "OpenSet", func() (*core.AVSet, error) { return w.all[side].AV.OpenSet(core.AVSetAttr{}) })
	for _, m := range members {
		w.all[side].ok("insert into the set", set.Insert(w.fi[side][m]))
	}
	return set
}

// start has the members call join. found waits until all have joined.
func (w *world) start(members ...int) *club {
	w.T.Helper()
	c := &club{w: w, members: members}
	for rank, m := range members {
		set := w.setOf(m, members)
		c.sets = append(c.sets, set)
		c.mc = append(c.mc, must(w.T, "JoinCollective",
			func() (*core.MC, error) { return w.all[m].EP.JoinCollective(set.Addr(), set, 0, rank) }))
	}
	return c
}

func (w *world) join(members ...int) *club {
	w.T.Helper()
	c := w.start(members...)
	c.found()
	return c
}

func (c *club) found() {
	c.w.T.Helper()
	for rank, m := range c.members {
		if ev := c.w.joined(c.w.all[m], c.mc[rank]); ev.Type != core.EventJoinComplete || ev.Context != rank {
			c.w.T.Fatalf("member %d: event %v, context %v", rank, ev.Type, ev.Context)
		}
	}
}

// joined waits for the event of a group. All sides make progress meanwhile.
func (w *world) joined(s *Side, g *core.MC) (ev core.EQEvent) {
	w.T.Helper()
	w.until(s.Name+": the event of joining", func() bool {
		if len(s.errs) > 0 {
			w.T.Fatalf("%s: %v: %s", s.Name, s.errs[0].Err, s.errs[0].Detail)
		}
		i := slices.IndexFunc(s.events, func(ev core.EQEvent) bool { return ev.Object == core.Object(g) })
		if i < 0 {
			return false
		}
		ev = s.events[i]
		s.events = slices.Delete(s.events, i, i+1)
		return true
	})
	return ev
}

func (c *club) close() {
	c.w.T.Helper()
	for rank, m := range c.members {
		c.w.all[m].ok("Close group", c.mc[rank].Close())
		c.w.all[m].ok("Close set", c.sets[rank].Close())
	}
}

// each posts an operation at every member, with one context, which it returns.
func (c *club) each(what string, post func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error) core.OpContext {
	c.w.T.Helper()
	c.w.ctx++
	for rank, m := range c.members {
		fi := make([]core.FIAddr, len(c.members))
		for i, o := range c.members {
			fi[i] = c.w.fi[m][o]
		}
		c.w.Retry(what, func() error { return post(rank, c.w.all[m].EP, c.mc[rank].Addr(), fi, c.w.ctx) })
	}
	return c.w.ctx
}

// end waits for the completions of an operation.
func (c *club) end(ctx core.OpContext) {
	c.w.T.Helper()
	for _, m := range c.members {
		if g := c.w.Want(c.w.all[m], ctx); g.Flags&core.CompCollective == 0 {
			c.w.T.Fatalf("a completion without FI_COLLECTIVE: %v", g)
		}
	}
}

// testCollective is the theme of collective operations.
func testCollective(t *testing.T, st Stack) {
	if !st.need(t, core.CapCollective) {
		return
	}
	for _, theme := range []struct {
		name string
		run  func(t *testing.T, st Stack)
	}{
		{"operations", collOperations},
		{"barrier", collBarrier},
		{"groups", collGroups},
		{"traffic", collTraffic},
		{"refusals", collRefusals},
		{"leave", collLeave},
		{"rejoin", collRejoin},
		{"query", collQuery},
	} {
		t.Run(theme.name, func(t *testing.T) { theme.run(t, st) })
	}
}

// collOperations does all operations in groups of 1 to 8.
func collOperations(t *testing.T, st Stack) {
	w := openWorld(t, st, 8)
	defer w.close()
	for _, n := range []int{1, 2, 3, 5, 8} {
		members := make([]int, n)
		for i := range members {
			members[i] = (i + n) % 8
		}
		c := w.join(members...)
		for _, count := range []int{0, 1, 100, 5_000, 40_000} {
			for _, root := range []int{0, n - 1} {
				c.operations(count, root)
			}
		}
		c.close()
	}
}

// words returns count numbers that differ from those of other members.
func words(rank, count int) []byte {
	b := make([]byte, 0, 8*count)
	for i := range count {
		b = binary.NativeEndian.AppendUint64(b, uint64(rank+1)*1_000_003+uint64(i)*7)
	}
	return b
}

// sums returns the sums of all members' numbers.
func sums(n, count int) []byte {
	sum := words(0, count)
	for r := 1; r < n; r++ {
		own := words(r, count)
		for i := 0; i < len(sum); i += 8 {
			binary.NativeEndian.PutUint64(sum[i:],
				binary.NativeEndian.Uint64(sum[i:])+binary.NativeEndian.Uint64(own[i:]))
		}
	}
	return sum
}

// operations does every operation with count numbers of each member.
func (c *club) operations(count, root int) {
	t := c.w.T
	t.Helper()
	n := len(c.members)
	if count > 10_000 && root == 0 && n > 1 {
		return // one root is enough for large ones
	}
	if count == 40_000 && n == 8 {
		count = 16_000
	}
	part := max(count/n, 1)
	size, psize := 8*count, 8*part
	out := make([][]byte, n)
	wholes := make([][]byte, n)
	for i := range out {
		wholes[i] = words(i, part*n)
	}
	check := func(what string, want func(rank int) []byte) {
		t.Helper()
		for i := range out {
			if b := want(i); b != nil && !bytes.Equal(out[i][:len(b)], b) {
				t.Fatalf("%s of %d numbers, %d members, root %d: member %d has a wrong result", what, count, n, root, i)
			}
		}
	}
	room := func(n int) {
		for i := range out {
			out[i] = make([]byte, n)
		}
	}
	atRoot := func(rank int, b []byte) []byte {
		if rank == root {
			return b
		}
		return nil
	}
	cut := func(b []byte, i int) []byte { return b[i*psize : (i+1)*psize] }
	total := sums(n, part*n)

	c.end(c.each("barrier", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.Barrier(g, ctx)
	}))
	room(size)
	copy(out[root], words(root, count))
	c.end(c.each("broadcast", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.Broadcast(out[rank], count, 0, g, fi[root], core.Uint64, 0, ctx)
	}))
	check("broadcast", func(int) []byte { return words(root, count) })
	room(size)
	c.end(c.each("allreduce", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.AllReduce(words(rank, count), count, 0, out[rank], 0, g, core.Uint64, core.AtomicSum, 0, ctx)
	}))
	sum := sums(n, count)
	check("allreduce", func(int) []byte { return sum })
	room(size)
	c.end(c.each("reduce", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.Reduce(words(rank, count), count, 0, atRoot(rank, out[rank]), 0, g, fi[root],
			core.Uint64, core.AtomicSum, 0, ctx)
	}))
	check("reduce", func(rank int) []byte { return atRoot(rank, sum) })
	room(psize)
	c.end(c.each("reduce-scatter", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.ReduceScatter(wholes[rank], part, 0, out[rank], 0, g, core.Uint64, core.AtomicSum, 0, ctx)
	}))
	check("reduce-scatter", func(rank int) []byte { return cut(total, rank) })
	room(psize)
	c.end(c.each("scatter", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.Scatter(atRoot(rank, wholes[rank]), part, 0, out[rank], 0, g, fi[root], core.Uint64, 0, ctx)
	}))
	check("scatter", func(rank int) []byte { return cut(wholes[root], rank) })
	parts := make([]byte, 0, psize*n)
	for i := range n {
		parts = append(parts, words(i, part)...)
	}
	room(psize * n)
	c.end(c.each("gather", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.Gather(words(rank, part), part, 0, atRoot(rank, out[rank]), 0, g, fi[root], core.Uint64, 0, ctx)
	}))
	check("gather", func(rank int) []byte { return atRoot(rank, parts) })
	room(psize * n)
	c.end(c.each("allgather", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.AllGather(words(rank, part), part, 0, out[rank], 0, g, core.Uint64, 0, ctx)
	}))
	check("allgather", func(int) []byte { return parts })
	room(psize * n)
	c.end(c.each("all to all", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
		return ep.AllToAll(wholes[rank], part, 0, out[rank], 0, g, core.Uint64, 0, ctx)
	}))
	check("all to all", func(rank int) (all []byte) {
		for i := range n {
			all = append(all, cut(wholes[i], rank)...)
		}
		return all
	})
}
