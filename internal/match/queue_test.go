// This file tests the rules of fi_msg(3) and fi_tagged(3) case by case.

package match

import (
	"slices"
	"testing"
)

type queue = Queue[string, string]

func recv(name string, src, tag, ignore uint64) *Recv[string] {
	return &Recv[string]{Src: src, Tag: tag, Ignore: ignore, Value: name}
}

func msg(name string, src, tag uint64) *Msg[string] {
	return &Msg[string]{Src: src, Tag: tag, Value: name}
}

// Fillers never match. They put what follows beyond scanLimit, so that the indices are used.
const fillerTag = 1 << 60

func postFillers(q *queue, n int) {
	for i := range n {
		q.Post(recv("filler", AnySource, fillerTag+uint64(i), 0))
	}
}

func arriveFillers(q *queue, n int) {
	for i := range n {
		q.Arrive(msg("filler", 999, fillerTag+uint64(i)))
	}
}

func TestMatch(t *testing.T) {
	const any, all = AnySource, ^uint64(0)
	tests := []struct {
		name     string
		posted   []*Recv[string]
		src, tag uint64
		want     string
	}{
		{"nothing posted", nil, 1, 0, ""},
		{"untagged, first of two", []*Recv[string]{recv("a", any, 0, 0), recv("b", any, 0, 0)}, 1, 0, "a"},
		{"tag differs", []*Recv[string]{recv("a", any, 5, 0)}, 1, 6, ""},
		{"tag equal behind others", []*Recv[string]{recv("a", any, 5, 0), recv("b", any, 6, 0)}, 1, 6, "b"},
		{"ignored bits differ", []*Recv[string]{recv("a", any, 0x1200, 0xff)}, 1, 0x1234, "a"},
		{"ignored bits set in the receive", []*Recv[string]{recv("a", any, 0x12ff, 0xff)}, 1, 0x1200, "a"},
		{"other bits differ", []*Recv[string]{recv("a", any, 0x1200, 0xff)}, 1, 0x1334, ""},
		{"everything ignored", []*Recv[string]{recv("a", any, 77, all)}, 1, 1 << 63, "a"},
		{"directed, its source", []*Recv[string]{recv("a", 2, 5, 0), recv("b", 1, 5, 0)}, 1, 5, "b"},
		{"directed, other source", []*Recv[string]{recv("a", 2, 5, 0)}, 1, 5, ""},
		{"directed to address zero", []*Recv[string]{recv("a", 0, 5, 0)}, 0, 5, "a"},
		{"unknown source, directed", []*Recv[string]{recv("a", 2, 5, 0)}, any, 5, ""},
		{"unknown source, undirected", []*Recv[string]{recv("a", 2, 5, 0), recv("b", any, 5, 0)}, any, 5, "b"},
		{"wildcard older than exact", []*Recv[string]{recv("x", any, 9, 0), recv("w", any, 0, all),
			recv("e", any, 5, 0)}, 1, 5, "w"},
		{"exact older than wildcard", []*Recv[string]{recv("x", any, 9, 0), recv("e", any, 5, 0),
			recv("w", any, 0, all)}, 1, 5, "e"},
		{"undirected older than directed",
			[]*Recv[string]{recv("x", any, 9, 0), recv("u", any, 5, 0), recv("d", 1, 5, 0)}, 1, 5, "u"},
		{"directed older than undirected",
			[]*Recv[string]{recv("x", any, 9, 0), recv("d", 1, 5, 0), recv("u", any, 5, 0)}, 1, 5, "d"},
	}
	for _, tt := range tests {
		for _, fill := range []int{0, 1, scanLimit, scanLimit + 1, 200} {
			var q queue
			postFillers(&q, fill)
			for _, r := range tt.posted {
				*r = *recv(r.Value, r.Src, r.Tag, r.Ignore)
				q.Post(r)
			}
			before := q.Posted()
			peeked, r := q.PeekPosted(tt.src, tt.tag), (*Recv[string])(nil)
			if q.Posted() != before {
				t.Errorf("%s, %d fillers: PeekPosted removed", tt.name, fill)
			}
			r = q.Match(tt.src, tt.tag)
			if r != peeked || (r == nil) != (tt.want == "") || r != nil && r.Value != tt.want {
				t.Errorf("%s, %d fillers: Match %v, PeekPosted %v, want %q", tt.name, fill, r, peeked, tt.want)
			}
			if r != nil && (q.Posted() != before-1 || q.Remove(r)) {
				t.Errorf("%s, %d fillers: matched receive is still posted", tt.name, fill)
			}
		}
	}
}

func TestTake(t *testing.T) {
	const any, all = AnySource, ^uint64(0)
	tests := []struct {
		name             string
		queued           []*Msg[string]
		src, tag, ignore uint64
		want             string
	}{
		{"nothing arrived", nil, any, 0, 0, ""},
		{"untagged, first of two", []*Msg[string]{msg("a", 1, 0), msg("b", 2, 0)}, any, 0, 0, "a"},
		{"tag", []*Msg[string]{msg("a", 1, 5), msg("b", 1, 6)}, any, 6, 0, "b"},
		{"source", []*Msg[string]{msg("a", 1, 5), msg("b", 2, 5)}, 2, 5, 0, "b"},
		{"source and tag differ in different messages", []*Msg[string]{msg("a", 1, 5), msg("b", 2, 6)}, 2, 5, 0, ""},
		{"mask", []*Msg[string]{msg("a", 1, 0x1334), msg("b", 1, 0x1234), msg("c", 1, 0x1256)}, any, 0x12ff, 0xff, "b"},
		{"mask and source", []*Msg[string]{msg("a", 1, 0x1234), msg("b", 2, 0x1256)}, 2, 0x1200, 0xff, "b"},
		{"unknown source, directed", []*Msg[string]{msg("a", any, 5)}, 1, 5, 0, ""},
		{"unknown source, undirected", []*Msg[string]{msg("a", any, 5)}, any, 5, 0, "a"},
		{"everything from one source", []*Msg[string]{msg("a", 1, 5), msg("b", 2, 6)}, 2, 0, all, "b"},
	}
	for _, tt := range tests {
		for _, fill := range []int{0, 1, scanLimit, scanLimit + 1, 200} {
			var q queue
			arriveFillers(&q, fill)
			for _, m := range tt.queued {
				*m = *msg(m.Value, m.Src, m.Tag)
				q.Arrive(m)
			}
			before := q.Unexpected()
			peeked := q.Peek(tt.src, tt.tag, tt.ignore)
			if q.Unexpected() != before {
				t.Errorf("%s, %d fillers: Peek removed", tt.name, fill)
			}
			m := q.Take(tt.src, tt.tag, tt.ignore)
			if m != peeked || (m == nil) != (tt.want == "") || m != nil && m.Value != tt.want {
				t.Errorf("%s, %d fillers: Take %v, Peek %v, want %q", tt.name, fill, m, peeked, tt.want)
			}
			if m != nil && (q.Unexpected() != before-1 || q.RemoveMsg(m)) {
				t.Errorf("%s, %d fillers: taken message is still queued", tt.name, fill)
			}
		}
	}
}

func TestRemoveAndFind(t *testing.T) {
	var q, other queue
	a, b, c := recv("a", AnySource, 1, 0), recv("b", AnySource, 2, 0), recv("b", AnySource, 3, 0)
	q.Post(a)
	q.Post(b)
	q.Post(c)
	if r := q.FindPosted(func(r *Recv[string]) bool { return r.Value == "b" }); r != b {
		t.Errorf("FindPosted: %v, want the oldest b", r)
	}
	if r := q.FindPosted(func(r *Recv[string]) bool { return r.Value == "z" }); r != nil {
		t.Errorf("FindPosted: %v, want none", r)
	}
	if other.Remove(b) {
		t.Error("removed from a queue it is not in")
	}
	if !q.Remove(b) || q.Remove(b) {
		t.Error("Remove: want true, then false")
	}
	if q.Match(1, 2) != nil {
		t.Error("matched a cancelled receive")
	}
	q.Post(b)
	if got := names(q.EachPosted()); !slices.Equal(got, []string{"a", "b", "b"}) || q.Posted() != 3 {
		t.Errorf("posted %v", got)
	}
}

func names(seq func(func(*Recv[string]) bool)) (s []string) {
	for r := range seq {
		s = append(s, r.Value)
	}
	return s
}

func TestRemoveWhileIterating(t *testing.T) {
	for _, n := range []int{5, 100} {
		var q queue
		postFillers(&q, n)
		arriveFillers(&q, n)
		q.Match(1, 1)
		q.Peek(1, 1, 0)
		var kept []uint64
		for r := range q.EachPosted() {
			if r.Tag%2 == 0 {
				q.Remove(r)
			} else {
				kept = append(kept, r.Tag)
			}
		}
		if q.Posted() != len(kept) || q.Posted() != n/2 || !slices.IsSorted(kept) {
			t.Errorf("%d posted: kept %d", n, q.Posted())
		}
		for m := range q.EachMsg() {
			q.RemoveMsg(m)
			if q.Unexpected() == 1 {
				break
			}
		}
		if m := q.Take(AnySource, 0, ^uint64(0)); m == nil || m.Tag != fillerTag+uint64(n-1) || q.Unexpected() != 0 {
			t.Errorf("%d unexpected: last is %v", n, m)
		}
	}
}

func TestSetSource(t *testing.T) {
	for _, fill := range []int{0, 200} {
		var q queue
		arriveFillers(&q, fill)
		early, late := msg("early", AnySource, 5), msg("late", 3, 5)
		q.Arrive(early)
		q.Arrive(late)
		if m := q.Peek(3, 5, 0); m != late { // with fillers: builds the directed view
			t.Fatalf("%d fillers: got %v, want late", fill, m)
		}
		q.SetSource(early, 3)
		if m := q.Take(3, 5, 0); m != early {
			t.Fatalf("%d fillers: got %v, want early, which is older", fill, m)
		}
		q.SetSource(early, 4) // not queued: only the field changes
		if m := q.Take(3, 5, 0); m != late || early.Src != 4 || q.Unexpected() != fill {
			t.Fatalf("%d fillers: got %v, want late", fill, m)
		}
	}
}

func TestQueuedTwicePanics(t *testing.T) {
	for name, again := range map[string]func(*queue, *Recv[string], *Msg[string]){
		"Post":   func(q *queue, r *Recv[string], _ *Msg[string]) { q.Post(r) },
		"Arrive": func(q *queue, _ *Recv[string], m *Msg[string]) { q.Arrive(m) },
	} {
		func() {
			var q queue
			r, m := recv("r", 1, 1, 0), msg("m", 1, 1)
			q.Post(r)
			q.Arrive(m)
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a queued object did not panic", name)
				}
			}()
			again(&q, r, m)
		}()
	}
}
