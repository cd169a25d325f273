package conform

// Tag matching (fi_tagged(3)) against a model, with random posts, sends and wildcards.

import (
	"slices"
	"testing"

	"gofabric/core"
)

// tagRecv is a posted receive of the model. The model matches as the man page says: the earliest posted receive that
// matches takes a message, and a new receive takes the earliest message.
type tagRecv struct {
	tag, ignore uint64
	ctx         core.OpContext
}

func (r tagRecv) matches(tag uint64) bool { return (r.tag^tag)&^r.ignore == 0 }

// taggedModel compares random posts and sends, with wildcards, with the model, for posted receives and for unexpected
// messages.
func taggedModel(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTagged), WithRxSize(512))
	r := rng(7)
	marker := p.A.tags()/4 + 1
	for round := range 30 {
		var posts []tagRecv
		var sends []uint64
		for i := range 40 {
			ignore := []uint64{0, 0, 1, 3, 7, p.A.tags() >> 4}[r.intn(6)]
			posts = append(posts, tagRecv{uint64(r.intn(8)), ignore, core.OpContext(round*1000 + i)})
			sends = append(sends, uint64(r.intn(8)))
		}
		want := map[core.OpContext]int{} // receive to message
		late := round%2 == 1
		if late {
			left := make([]int, len(sends))
			for i := range left {
				left[i] = i
			}
			for _, q := range posts {
				if j := slices.IndexFunc(left, func(m int) bool { return q.matches(sends[m]) }); j >= 0 {
					want[q.ctx] = left[j]
					left = slices.Delete(left, j, j+1)
				}
			}
		} else {
			left := slices.Clone(posts)
			for m, tag := range sends {
				if j := slices.IndexFunc(left, func(q tagRecv) bool { return q.matches(tag) }); j >= 0 {
					want[left[j].ctx] = m
					left = slices.Delete(left, j, j+1)
				}
			}
		}
		taggedRound(p, round, posts, sends, want, late, marker)
	}
}

// taggedRound runs one round of the model, then cancels and drains what did not match.
func taggedRound(p *Pair, round int, posts []tagRecv, sends []uint64,
	want map[core.OpContext]int, late bool, marker uint64) {
	p.T.Helper()
	bufs := map[core.OpContext][]byte{}
	mark := core.OpContext(900000 + round)
	p.Retry("trecv", func() error { return p.B.Rx().TRecv(nil, 0, core.AddrUnspec, marker, 0, mark) })
	post := func() {
		for _, q := range posts {
			b := make([]byte, 64)
			bufs[q.ctx] = b
			p.Retry("trecv", func() error { return p.B.Rx().TRecv(b, 0, core.AddrUnspec, q.tag, q.ignore, q.ctx) })
		}
	}
	if !late {
		post()
	}
	for m, tag := range sends {
		p.Retry("tinject", func() error { return p.A.EP.TInject(Pattern(20+m, uint64(m)), p.A.Peer, tag) })
	}
	p.Retry("tinject", func() error { return p.A.EP.TInject(nil, p.A.Peer, marker) })
	p.Want(p.B, mark) // from the same sender, in order: everything before it has arrived
	if late {
		post()
	}
	taken := map[int]bool{}
	for _, q := range posts {
		m, ok := want[q.ctx]
		if !ok {
			p.B.ok("Cancel", p.B.Rx().Cancel(q.ctx))
			p.WantErr(p.B, q.ctx, core.ErrCanceled)
			continue
		}
		g := p.Want(p.B, q.ctx)
		if g.Len != 20+m || g.Tag != sends[m] {
			p.T.Fatalf("round %d late=%v: receive tag %d ignore %#x got %d bytes with tag %d; want message %d (%d bytes, tag %d)",
				round, late, q.tag, q.ignore, g.Len, g.Tag, m, 20+m, sends[m])
		}
		CheckPattern(p.T, "message", bufs[q.ctx], g.Len, uint64(m))
		taken[m] = true
	}
	for m := range sends {
		if !taken[m] { // drain in order: wildcard receives take the earliest message
			b := make([]byte, 64)
			p.Retry("trecv", func() error { return p.B.Rx().TRecv(b, 0, core.AddrUnspec, 0, ^uint64(0), 999) })
			if g := p.Want(p.B, 999); g.Len != 20+m {
				p.T.Fatalf("round %d: draining got %v, want message %d", round, g, m)
			}
		}
	}
}
