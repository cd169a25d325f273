package conform

// A member gives up joining and joins again at once. Each member's join succeeds or ends with an error, and a member
// that tries again succeeds in the end.

import (
	"slices"
	"testing"

	"gofabric/core"
)

// rejoiner is a member that tries until it has passed a barrier of the group.
type rejoiner struct {
	w     *world
	s     *Side
	set   *core.AVSet
	g     *core.MC
	tries int
	in    bool // a barrier is pending
	ctx   core.OpContext
	done  bool
}

func (r *rejoiner) join() {
	t := r.w.T
	t.Helper()
	if r.tries++; r.tries > 30 {
		t.Fatalf("%s: 30 attempts to join have failed", r.s.Name)
	}
	r.in = false
	r.g = must(t, "JoinCollective", func() (*core.MC, error) { return r.s.EP.JoinCollective(r.set.Addr(), r.set, 0, r.tries) })
}

func (r *rejoiner) leave() {
	r.w.T.Helper()
	r.s.ok("Close group", r.g.Close())
	r.s.events = slices.DeleteFunc(r.s.events, func(ev core.EQEvent) bool { return ev.Object == core.Object(r.g) })
	r.s.errs = slices.DeleteFunc(r.s.errs, func(e core.EQErrEntry) bool { return e.Object == core.Object(r.g) })
}

// step does the next step that is possible now.
func (r *rejoiner) step() {
	t, s := r.w.T, r.s
	t.Helper()
	if r.done {
		return
	}
	mine := func(e core.EQErrEntry) bool { return e.Object == core.Object(r.g) }
	if slices.ContainsFunc(s.errs, mine) {
		r.leave()
		r.join()
		return
	}
	if !r.in {
		if !slices.ContainsFunc(s.events, func(ev core.EQEvent) bool { return ev.Object == core.Object(r.g) }) {
			return
		}
		r.ctx++
		switch err := s.EP.Barrier(r.g.Addr(), r.ctx); {
		case err == nil:
			r.in = true
		case !oneOf(err, core.ErrAgain): // the group has failed since
			r.leave()
			r.join()
		}
		return
	}
	i := slices.IndexFunc(s.got, func(g Got) bool { return g.Ctx == r.ctx })
	if i < 0 {
		return
	}
	g := s.got[i]
	s.got = slices.Delete(s.got, i, i+1)
	if g.Err == nil {
		r.done = true
		return
	}
	r.leave()
	r.join()
}

// collRejoin has every member give up after each of several short times.
func collRejoin(t *testing.T, st Stack) {
	const most = 5
	w := openWorld(t, st, most)
	defer w.close()
	for _, n := range []int{2, 3, 4, most} {
		members := make([]int, n)
		for i := range members {
			members[i] = i
		}
		for victim := range n {
			for after := range 8 {
				list := make([]*rejoiner, n)
				for i, m := range members {
					list[i] = &rejoiner{w: w, s: w.all[m], set: w.setOf(m, members),
						ctx: core.OpContext(0x7000 + 0x100*i)}
				}
				for i, r := range list {
					r.join()
					if after == 7 && i == victim { // before some have begun
						r.leave()
						r.join()
					}
				}
				round := 0
				w.until("all have joined", func() bool {
					if round == after && !list[victim].in && !list[victim].done {
						list[victim].leave()
						list[victim].join()
					}
					round++
					left := 0
					for _, r := range list {
						r.step()
						if !r.done {
							left++
						}
					}
					return left == 0
				})
				for _, r := range list {
					r.leave()
					r.s.ok("Close set", r.set.Close())
				}
			}
		}
	}
}
