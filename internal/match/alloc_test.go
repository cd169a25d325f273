// This file checks that operations allocate nothing, and that no memory is kept for masks and bursts of the past.

package match

import "testing"

const rounds = 200

func wantNoAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	f()
	if n := testing.AllocsPerRun(rounds, f); n != 0 {
		t.Errorf("%s: %v allocations per run", what, n)
	}
}

func TestNoAllocs(t *testing.T) {
	for _, depth := range []int{0, 10, 1000} {
		var q Queue[int, int]
		for i := range depth {
			q.Post(&Recv[int]{Src: AnySource, Tag: 1000 + uint64(i)})
			q.Arrive(&Msg[int]{Src: 1, Tag: 1000 + uint64(i)})
		}
		var r [3]Recv[int]
		var m Msg[int]
		wantNoAllocs(t, "post, match", func() {
			r[0].Src, r[0].Tag, r[0].Ignore = AnySource, 1, 0
			r[1].Src, r[1].Tag, r[1].Ignore = 2, 2, 0
			r[2].Src, r[2].Tag, r[2].Ignore = AnySource, 3, 3 // a class that is made and dropped
			q.Post(&r[2])
			q.Post(&r[0])
			q.Post(&r[1])
			if q.Match(2, 1) != &r[2] || q.Match(2, 1) != &r[0] || q.Match(2, 2) != &r[1] {
				t.Fatal("mismatch")
			}
		})
		wantNoAllocs(t, "arrive, take", func() {
			m.Src, m.Tag = 2, 5
			for _, f := range []func() *Msg[int]{
				func() *Msg[int] { return q.Take(2, 5, 0) },
				func() *Msg[int] { return q.Take(AnySource, 5, 0) },
				func() *Msg[int] { return q.Take(AnySource, 4, 1) },
				func() *Msg[int] { return q.Take(2, 4, 1) },
			} {
				q.Arrive(&m)
				if f() != &m {
					t.Fatal("mismatch")
				}
			}
		})
		wantNoAllocs(t, "iterate, find", func() {
			n := 0
			for range q.EachPosted() {
				n++
			}
			for range q.EachMsg() {
				n++
			}
			if n != 2*depth || q.FindPosted(func(r *Recv[int]) bool { return r.Tag == 1 }) != nil {
				t.Fatal("miscounted")
			}
		})
	}
}

// A queue that fills and drains in turns keeps its tables.
func TestNoAllocsInPhases(t *testing.T) {
	var q Queue[int, int]
	rs, ms := make([]Recv[int], 5000), make([]Msg[int], 5000)
	wantNoAllocs(t, "phases", func() {
		for i := range rs {
			rs[i].Src, rs[i].Tag = AnySource, uint64(i)
			ms[i].Src, ms[i].Tag = 1, uint64(i)
			q.Post(&rs[i])
			q.Arrive(&ms[i])
		}
		for i := range rs {
			j := uint64(len(rs) - 1 - i)
			if q.Match(1, j) != &rs[j] || q.Take(1, j, 0) != &ms[j] {
				t.Fatal("mismatch")
			}
		}
	})
}

// TestMemoryReturns: after a burst and enough small use, tables and classes have the size for the small use.
func TestMemoryReturns(t *testing.T) {
	for _, left := range []int{0, 1} { // with one left the index stays, with none it is dropped
		var q Queue[int, int]
		for i := range left {
			q.Post(&Recv[int]{Src: AnySource, Tag: 1 << 40, Value: i})
			q.Arrive(&Msg[int]{Src: 1, Tag: 1 << 40})
		}
		const burst = 20000
		for i := range uint64(burst) {
			q.Post(&Recv[int]{Src: AnySource, Tag: i << 16, Ignore: i})
			q.Arrive(&Msg[int]{Src: 1, Tag: i})
		}
		if r := q.PeekPosted(1, 1<<50); r != nil {
			t.Fatal("matched")
		}
		if q.Peek(1, 1<<50, 0) != nil || len(q.posted.classes.active) < burst {
			t.Fatal("burst did not build classes")
		}
		for r := range q.EachPosted() {
			if r.Tag != 1<<40 {
				q.Remove(r)
			}
		}
		for m := range q.EachMsg() {
			if m.Tag != 1<<40 {
				q.RemoveMsg(m)
			}
		}
		r, m := Recv[int]{Src: AnySource, Tag: 7}, Msg[int]{Src: 1, Tag: 7}
		for range 4 * burst {
			q.Post(&r)
			q.Arrive(&m)
			if q.Match(1, 7) != &r || q.Take(1, 7, 0) != &m {
				t.Fatal("mismatch")
			}
		}
		c := &q.posted.classes
		for what, got := range map[string]int{
			"posted lines": len(q.posted.table.lines), "class buckets": len(c.byMask.buckets),
			"view buckets": len(q.views.all[0].table.buckets), "free classes": c.nfree, "class slots": cap(c.active),
		} {
			if got > 256 {
				t.Errorf("%d left: %d %s after a burst of %d", left, got, what, burst)
			}
		}
		if len(c.active) != left {
			t.Errorf("%d classes, want %d", len(c.active), left)
		}
		if err := q.check(); err != nil {
			t.Error(err)
		}
	}
}
