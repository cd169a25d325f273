// This file compares the queue with a naive model: two slices that are searched from the front.

package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type model struct {
	q      Queue[int, int]
	posted []*Recv[int]
	queued []*Msg[int]
	gone   []*Recv[int] // were posted once
	id     int
}

func (m *model) newRecv(src, tag, ignore uint64) *Recv[int] {
	m.id++
	if n := len(m.gone); n > 0 && m.id%2 == 0 { // a used object must be as good as a new one
		r := m.gone[n-1]
		m.gone = m.gone[:n-1]
		r.Src, r.Tag, r.Ignore, r.Value = src, tag, ignore, m.id
		return r
	}
	return &Recv[int]{Src: src, Tag: tag, Ignore: ignore, Value: m.id}
}

func (m *model) post(src, tag, ignore uint64) {
	r := m.newRecv(src, tag, ignore)
	m.q.Post(r)
	m.posted = append(m.posted, r)
}

func (m *model) arrive(src, tag uint64) {
	m.id++
	x := &Msg[int]{Src: src, Tag: tag, Value: m.id}
	m.q.Arrive(x)
	m.queued = append(m.queued, x)
}

// accepts follows the words of the man page, unlike the code under test.
func accepts(rsrc, rtag, ignore, src, tag uint64) bool {
	return (rsrc == AnySource || rsrc == src) && (rtag|ignore) == (tag|ignore)
}

func (m *model) match(t fataler, src, tag uint64, remove bool) {
	i := slices.IndexFunc(m.posted, func(r *Recv[int]) bool { return accepts(r.Src, r.Tag, r.Ignore, src, tag) })
	var want *Recv[int]
	if i >= 0 {
		want = m.posted[i]
	}
	f := m.q.PeekPosted
	if remove {
		f = m.q.Match
		if i >= 0 {
			m.posted = slices.Delete(m.posted, i, i+1)
			m.gone = append(m.gone, want)
		}
	}
	if got := f(src, tag); got != want {
		t.Fatalf("match(%#x, %#x): %+v, want %+v", src, tag, got, want)
	}
}

func (m *model) take(t fataler, src, tag, ignore uint64, remove bool) {
	i := slices.IndexFunc(m.queued, func(x *Msg[int]) bool { return accepts(src, tag, ignore, x.Src, x.Tag) })
	var want *Msg[int]
	if i >= 0 {
		want = m.queued[i]
	}
	f := m.q.Peek
	if remove {
		f = m.q.Take
		if i >= 0 {
			m.queued = slices.Delete(m.queued, i, i+1)
		}
	}
	if got := f(src, tag, ignore); got != want {
		t.Fatalf("take(%#x, %#x, %#x): %+v, want %+v", src, tag, ignore, got, want)
	}
}

func (m *model) cancel(t fataler, i int) {
	r := m.posted[i]
	m.posted = slices.Delete(m.posted, i, i+1)
	m.gone = append(m.gone, r)
	if got := m.q.FindPosted(func(x *Recv[int]) bool { return x.Value == r.Value }); got != r {
		t.Fatalf("FindPosted: %+v, want %+v", got, r)
	}
	if !m.q.Remove(r) || m.q.Remove(r) {
		t.Fatalf("Remove: want true, then false")
	}
}

func (m *model) removeMsg(t fataler, i int) {
	x := m.queued[i]
	m.queued = slices.Delete(m.queued, i, i+1)
	if !m.q.RemoveMsg(x) || m.q.RemoveMsg(x) {
		t.Fatalf("RemoveMsg: want true, then false")
	}
}

func (m *model) compare(t fataler) {
	if m.q.Posted() != len(m.posted) || m.q.Unexpected() != len(m.queued) {
		t.Fatalf("%d posted, %d unexpected, want %d, %d", m.q.Posted(), m.q.Unexpected(), len(m.posted), len(m.queued))
	}
	if got := slices.Collect(m.q.EachPosted()); !slices.Equal(got, m.posted) {
		t.Fatalf("posted in other order than the model")
	}
	if got := slices.Collect(m.q.EachMsg()); !slices.Equal(got, m.queued) {
		t.Fatalf("unexpected in other order than the model")
	}
	if err := m.q.check(); err != nil {
		t.Fatalf("%v", err)
	}
}

type fataler interface{ Fatalf(string, ...any) }

var (
	someTags   = []uint64{0, 1, 2, 3, 1 << 63}
	someSrcs   = []uint64{AnySource, 0, 1, 2}
	someMasks  = []uint64{0, 0, 1, 3, 1 << 63, ^uint64(0)}
	tags       = rapid.SampledFrom(someTags)
	srcs       = rapid.SampledFrom(someSrcs)
	masks      = rapid.SampledFrom(someMasks)
	fillCounts = rapid.SampledFrom([]int{0, 0, scanLimit, 40, 150})
)

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := new(model)
		for i := range fillCounts.Draw(t, "filled") { // more than scanLimit, so that indices are built
			m.post(uint64(i%3), 100+uint64(i), 0)
			m.arrive(uint64(i%3), 100+uint64(i))
		}
		index := func(t *rapid.T, n int) int {
			if n == 0 {
				t.Skip("empty")
			}
			return rapid.IntRange(0, n-1).Draw(t, "index")
		}
		post := func(t *rapid.T) { m.post(srcs.Draw(t, "src"), tags.Draw(t, "tag"), masks.Draw(t, "ignore")) }
		arrive := func(t *rapid.T) { m.arrive(srcs.Draw(t, "src"), tags.Draw(t, "tag")) }
		t.Repeat(map[string]func(*rapid.T){
			"":       func(t *rapid.T) { m.compare(t) },
			"post":   post,
			"post2":  post,
			"match":  func(t *rapid.T) { m.match(t, srcs.Draw(t, "src"), tags.Draw(t, "tag"), true) },
			"peekp":  func(t *rapid.T) { m.match(t, srcs.Draw(t, "src"), tags.Draw(t, "tag"), false) },
			"cancel": func(t *rapid.T) { m.cancel(t, index(t, len(m.posted))) },
			"arrive": arrive, "arrive2": arrive,
			"take": func(t *rapid.T) { m.take(t, srcs.Draw(t, "src"), tags.Draw(t, "tag"), masks.Draw(t, "ignore"), true) },
			"peek": func(t *rapid.T) { m.take(t, srcs.Draw(t, "src"), tags.Draw(t, "tag"), masks.Draw(t, "ignore"), false) },
			"rmmsg": func(t *rapid.T) {
				m.removeMsg(t, index(t, len(m.queued)))
			},
			"setsrc": func(t *rapid.T) {
				m.q.SetSource(m.queued[index(t, len(m.queued))], srcs.Draw(t, "src"))
			},
			"drain": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					for len(m.posted) > 0 {
						m.cancel(t, 0)
					}
					for len(m.queued) > 0 {
						m.take(t, AnySource, 0, ^uint64(0), true)
					}
				}
			},
		})
	})
}

// TestModelDeep fills and drains the queues in turn, so that tables grow and shrink, with many tags, sources and masks.
func TestModelDeep(t *testing.T) {
	for seed := range uint64(4) {
		m, rnd := new(model), rand.New(rand.NewPCG(seed, 1))
		src := func() uint64 {
			if rnd.IntN(3) == 0 {
				return AnySource
			}
			return rnd.Uint64N(5)
		}
		tag := func() uint64 { return rnd.Uint64N(200) }
		mask := func() uint64 {
			if rnd.IntN(4) > 0 {
				return someMasks[rnd.IntN(len(someMasks))]
			}
			return rnd.Uint64N(64)
		}
		for step := range 20000 {
			fill := 2 + 6*(step/2500%2) // of 10: 2 drains, 8 fills
			if rnd.IntN(10) < fill {
				m.post(src(), tag(), mask())
				m.arrive(src(), tag())
			} else {
				m.match(t, src(), tag(), true)
				m.take(t, src(), tag(), mask(), true)
				if n := len(m.posted); n > 0 {
					m.cancel(t, rnd.IntN(n))
				}
				if n := len(m.queued); n > 0 {
					m.removeMsg(t, rnd.IntN(n))
				}
			}
			if step%100 == 0 {
				m.compare(t)
			}
		}
		m.compare(t)
	}
}
