package conform

// More about collective operations: the guarantee of a barrier, several groups, traffic at the same time, refusals,
// members that leave.

import (
	"bytes"
	"testing"

	"gofabric/core"
)

// collBarrier has one member arrive late. No other member may complete the barrier before.
func collBarrier(t *testing.T, st Stack) {
	const n = 5
	w := openWorld(t, st, n)
	defer w.close()
	c := w.join(0, 1, 2, 3, 4)
	for late := range n {
		w.ctx++
		for rank, s := range w.all {
			if rank != late {
				w.Retry("barrier", func() error { return s.EP.Barrier2(c.mc[rank].Addr(), core.OpCompletion, w.ctx) })
			}
		}
		// The waiting members exchange messages. That takes time, and lets the barrier's own messages through.
		for i := range 20 {
			w.Progress()
			for rank, s := range w.all {
				if len(s.got) > 0 {
					t.Fatalf("round %d: member %d has completed before member %d has arrived: %v", i, rank, late,
						s.got[0])
				}
			}
		}
		w.Retry("barrier", func() error { return w.all[late].EP.Barrier(c.mc[late].Addr(), w.ctx) })
		c.end(w.ctx)
	}
	c.close()
}

// collGroups makes overlapping groups by operations on sets, which work at the same time, and has several operations
// of a group pending.
func collGroups(t *testing.T, st Stack) {
	w := openWorld(t, st, 6)
	defer w.close()
	a, b := w.start(0, 1, 2, 3), w.start(3, 2, 5)
	b.found()
	a.found()
	// The union and the intersection of both sets, in the order of a.
	made := func(op func(x, y *core.AVSet) error, members ...int) *club {
		c := &club{w: w, members: members}
		for rank, m := range members {
			x, y := w.setOf(m, a.members), w.setOf(m, b.members)
			w.all[m].ok("operation on sets", op(x, y))
			w.all[m].ok("Close set", y.Close())
			c.sets = append(c.sets, x)
			at := x.Addr()
			if rank == 0 {
				at = core.AddrNotAvail
			}
			c.mc = append(c.mc, must(t, "JoinCollective",
				func() (*core.MC, error) { return w.all[m].EP.JoinCollective(at, x, 0, rank) }))
		}
		c.found()
		return c
	}
	union := made(func(x, y *core.AVSet) error { return x.Union(y) }, 0, 1, 2, 3, 5)
	common := made(func(x, y *core.AVSet) error { return x.Intersect(y) }, 2, 3)
	clubs := []*club{a, b, union, common}
	type run struct {
		c   *club
		ctx core.OpContext
		out [][]byte
	}
	var runs []run
	const count = 700
	for range 6 {
		for _, c := range clubs {
			r := run{c: c, out: make([][]byte, len(c.members))}
			for i := range r.out {
				r.out[i] = make([]byte, 8*count)
			}
			r.ctx = c.each("allreduce",
				func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
					return ep.AllReduce(words(rank, count), count, 0, r.out[rank], 0, g,
						core.Uint64, core.AtomicSum, 0, ctx)
				})
			runs = append(runs, r)
		}
	}
	for _, r := range runs {
		r.c.end(r.ctx)
		want := sums(len(r.c.members), count)
		for rank, b := range r.out {
			if !bytes.Equal(b, want) {
				t.Fatalf("group of %d: member %d has a wrong sum", len(r.c.members), rank)
			}
		}
	}
	for _, c := range clubs {
		c.close()
	}
}

// collTraffic sends messages that any receive would match while collectives run. Neither may get the other's data.
func collTraffic(t *testing.T, st Stack) {
	tagged := st.Offers(t, core.CapCollective|core.CapTagged)
	w := openWorld(t, st, 4, WithRxSize(256))
	defer w.close()
	c := w.join(0, 1, 2, 3)
	const rounds, count, size = 10, 3000, 2000
	bufs := make([][][]byte, len(w.all))
	for i, s := range w.all {
		for m := range 2 * rounds {
			b := make([]byte, size)
			bufs[i] = append(bufs[i], b)
			ctx := core.OpContext(1000 + m)
			if tagged && m%2 == 1 {
				w.Retry("recv", func() error { return s.EP.TRecv(b, 0, core.AddrUnspec, 0, ^uint64(0), ctx) })
			} else {
				w.Retry("recv", func() error { return s.EP.Recv(b, 0, core.AddrUnspec, ctx) })
			}
		}
	}
	out := make([][]byte, len(w.all))
	for round := range uint64(rounds) {
		for i := range w.all {
			out[i] = make([]byte, 8*count)
		}
		ctx := c.each("allreduce", func(rank int, ep *core.Endpoint, g core.FIAddr, fi []core.FIAddr, ctx core.OpContext) error {
			next := fi[(rank+1)%len(fi)]
			msg := Pattern(size, round)
			if tagged {
				w.Retry("tagged send", func() error { return ep.TSend(msg, 0, next, round<<32, 7) })
			} else {
				w.Retry("send", func() error { return ep.Send(msg, 0, next, 7) })
			}
			w.Retry("send", func() error { return ep.Send(msg, 0, next, 7) })
			return ep.AllReduce(words(rank, count), count, 0, out[rank], 0, g, core.Uint64, core.AtomicSum, 0, ctx)
		})
		c.end(ctx)
		for rank, b := range out {
			if !bytes.Equal(b, sums(len(out), count)) {
				t.Fatalf("round %d: member %d has a wrong sum", round, rank)
			}
		}
	}
	for i, s := range w.all {
		for m := range 2 * rounds {
			w.Want(s, core.OpContext(1000+m))
			CheckPattern(t, "message beside collectives", bufs[i][m], size, uint64(m/2))
			w.Want(s, 7)
		}
	}
	c.close()
}

// collRefusals makes calls that must be refused.
func collRefusals(t *testing.T, st Stack) {
	w := openWorld(t, st, 3)
	defer w.close()
	s, ep := w.all[0], w.all[0].EP
	without := w.setOf(0, []int{1, 2})
	_, err := ep.JoinCollective(without.Addr(), without, 0, nil)
	refuse(t, "joining a set without oneself", err, core.ErrInval)
	_, err = ep.JoinCollective(3, without, 0, nil)
	refuse(t, "joining at the address of an endpoint", err, core.ErrInval)
	_, err = ep.JoinCollective(without.Addr(), without, 1<<19, nil)
	refuse(t, "joining with flags", err, core.ErrBadFlags)
	s.ok("Close set", without.Close())
	refuse(t, "a barrier of no group", ep.Barrier(w.fi[0][1], 1), core.ErrInval)

	both := w.setOf(0, []int{0, 2})
	early := must(t, "JoinCollective", func() (*core.MC, error) { return ep.JoinCollective(both.Addr(), both, 0, nil) })
	refuse(t, "a barrier before joining is complete", ep.Barrier(early.Addr(), 1), core.ErrOpBadState)
	s.ok("Close of what is being joined", early.Close())
	s.ok("Close set", both.Close())
	c := w.join(0, 1)
	g := c.mc[0].Addr()
	b := make([]byte, 64)
	refuse(t, "a sum of bytes that are not there",
		ep.AllReduce(b, 9, 0, b, 0, g, core.Uint64, core.AtomicSum, 0, 1), core.ErrInval)
	refuse(t, "a negative count", ep.AllReduce(b, -1, 0, b, 0, g, core.Uint64, core.AtomicSum, 0, 1), core.ErrInval)
	refuse(t, "a count beyond all memory",
		ep.AllReduce(b, core.MaxSize, 0, b, 0, g, core.Uint64, core.AtomicSum, 0, 1), core.ErrInval)
	refuse(t, "the bits of floats", ep.AllReduce(b, 1, 0, b, 0, g, core.Double, core.AtomicBXor, 0, 1),
		core.ErrOpNotSupp)
	refuse(t, "reducing by comparing",
		ep.AllReduce(b, 1, 0, b, 0, g, core.Uint64, core.AtomicCSwap, 0, 1), core.ErrOpNotSupp)
	refuse(t, "a datatype of no size", ep.Broadcast(b, 1, 0, g, w.fi[0][0], core.Void, 0, 1), core.ErrOpNotSupp)
	refuse(t, "a root that is no member", ep.Broadcast(b, 1, 0, g, w.fi[0][2], core.Uint8, 0, 1), core.ErrInval)
	refuse(t, "flags of other calls", ep.Barrier2(g, core.OpPeek, 1), core.ErrBadFlags)
	refuse(t, "closing the set of a group", c.sets[0].Close(), core.ErrBusy)
	c.close()
	refuse(t, "closing a group twice", c.mc[0].Close(), core.ErrBadF)
	refuse(t, "a barrier of a group that was left", ep.Barrier(g, 1), core.ErrInval)

	one := must(t, "OpenSet", func() (*core.AVSet, error) {
		return s.AV.OpenSet(core.AVSetAttr{Flags: core.AVSetBarrier})
	})
	s.ok("Insert", one.Insert(w.fi[0][0]))
	mc := must(t, "JoinCollective", func() (*core.MC, error) { return ep.JoinCollective(one.Addr(), one, 0, nil) })
	w.joined(s, mc)
	refuse(t, "what the set is not for",
		ep.AllReduce(b, 1, 0, b, 0, mc.Addr(), core.Uint64, core.AtomicSum, 0, 1), core.ErrOpNotSupp)
	s.ok("Barrier", ep.Barrier(mc.Addr(), 0x77))
	w.Want(s, 0x77)
	s.ok("Close group", mc.Close())
	s.ok("Close set", one.Close())
}

// collLeave has members leave while others wait for them: by closing the endpoint, or by leaving the group, in an
// operation, or while joining.
func collLeave(t *testing.T, st Stack) {
	w := openWorld(t, st, 5)
	defer w.close()
	c := w.join(0, 1, 2, 3)
	failed := func(c *club, ctx core.OpContext, ranks ...int) {
		t.Helper()
		for _, r := range ranks {
			g := w.WantEnd(w.all[c.members[r]], ctx, st.bounded())
			if g.Err == nil {
				t.Fatalf("member %d: the operation succeeded without a member: %v", r, g)
			}
			if g.Err.Detail == "" || g.Flags&core.CompCollective == 0 {
				t.Errorf("member %d: an error completion without a detail or flags: %v", r, g)
			}
			err := w.all[c.members[r]].EP.Barrier(c.mc[r].Addr(), 1)
			if err == nil || oneOf(err, core.ErrAgain) {
				t.Errorf("member %d: a broken group takes operations: %v", r, err)
			}
		}
	}
	// Member 1 leaves the group instead of joining the barrier.
	w.ctx++
	for _, r := range []int{0, 2, 3} {
		w.Retry("barrier", func() error { return w.all[r].EP.Barrier(c.mc[r].Addr(), w.ctx) })
	}
	w.all[1].ok("Close group", c.mc[1].Close())
	failed(c, w.ctx, 0, 2, 3)
	w.all[1].ok("Close set", c.sets[1].Close())
	for _, r := range []int{0, 2, 3} {
		w.all[r].ok("Close group", c.mc[r].Close())
		w.all[r].ok("Close set", c.sets[r].Close())
	}
	// The same members join again, and member 3's endpoint closes. A join that misses the member waits, and then
	// fails.
	c = w.join(0, 1, 2, 3)
	w.ctx++
	big := make([][]byte, 4)
	for r := range 3 {
		big[r] = make([]byte, 1<<20)
		w.Retry("allreduce", func() error {
			return w.all[r].EP.AllReduce(big[r], 1<<17, 0, big[r], 0, c.mc[r].Addr(),
				core.Double, core.AtomicSum, 0, w.ctx)
		})
	}
	half := &club{w: w, members: []int{0, 3}}
	set := w.setOf(0, half.members)
	mc := must(t, "JoinCollective", func() (*core.MC, error) { return w.all[0].EP.JoinCollective(set.Addr(), set, 0, "half") })
	for range 5 {
		w.Progress()
	}
	w.all[3].Asleep = true
	w.all[3].CloseEP()
	failed(c, w.ctx, 0, 1, 2)
	w.untilFor(st.bounded(), "the end of joining without a member", func() bool { return len(w.all[0].errs) > 0 })
	if e := w.all[0].errs[0]; e.Object != core.Object(mc) || e.Context != "half" || e.Detail == "" {
		t.Errorf("the event of a join that failed: %+v", e)
	}
	w.all[0].errs = nil
	w.all[0].ok("Close group", mc.Close())
	w.all[0].ok("Close set", set.Close())
	for r := range 4 {
		if err := c.mc[r].Close(); err != nil {
			t.Errorf("member %d: closing a broken group: %v", r, err)
		}
		w.all[r].ok("Close set", c.sets[r].Close())
	}
	// The remaining members continue.
	rest := w.join(0, 1, 2, 4)
	rest.operations(1000, 2)
	rest.close()
}

// collQuery queries the supported operations.
func collQuery(t *testing.T, st Stack) {
	w := openWorld(t, st, 1)
	defer w.close()
	d := w.all[0].Domain
	for op := core.CollBarrier; op <= core.CollGather; op++ {
		a := core.CollectiveAttr{Op: core.AtomicSum, Type: core.Int32}
		if op == core.CollBarrier {
			a = core.CollectiveAttr{Op: core.AtomicNoop, Type: core.Void}
		}
		if err := d.QueryCollective(op, &a, 0); err != nil || a.MaxMembers < 2 || op != core.CollBarrier &&
			(a.Attr.Size != 4 || a.Attr.Count < 1) {
			t.Errorf("QueryCollective of %d: %+v, %v", op, a, err)
		}
	}
	refuse(t, "bits of floats", d.QueryCollective(core.CollAllReduce,
		&core.CollectiveAttr{Op: core.AtomicBOr, Type: core.Float}, 0), core.ErrOpNotSupp)
	refuse(t, "a mode", d.QueryCollective(core.CollAllReduce, &core.CollectiveAttr{Type: core.Float, Mode: 1}, 0),
		core.ErrInval)
	refuse(t, "an unknown operation",
		d.QueryCollective(77, &core.CollectiveAttr{Type: core.Float}, 0), core.ErrOpNotSupp)
}
