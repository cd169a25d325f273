// The invariants of all structures, checked from outside after each step of the model tests.

package match

import "fmt"

func (q *Queue[R, M]) check() error {
	if err := q.posted.check(); err != nil {
		return fmt.Errorf("posted: %w", err)
	}
	if err := q.unexpected.check(); err != nil {
		return fmt.Errorf("unexpected: %w", err)
	}
	want := 0
	if q.index.on {
		want = q.posted.n
	}
	if err := q.index.table.check(want); err != nil {
		return fmt.Errorf("posted: %w", err)
	}
	sum := 0
	for i, c := range q.index.classes.active {
		if c.n <= 0 || c.pos != i {
			return fmt.Errorf("class %d: count %d, pos %d", i, c.n, c.pos)
		}
		sum += c.n
	}
	if sum != want {
		return fmt.Errorf("classes count %d receives, want %d", sum, want)
	}
	if err := q.index.classes.byMask.check(len(q.index.classes.active)); err != nil {
		return fmt.Errorf("classes: %w", err)
	}
	on := 0
	for i := range q.views.all {
		v, want := &q.views.all[i], 0
		if v.on {
			on++
			want = q.unexpected.n
		}
		if err := v.table.check(want); err != nil {
			return fmt.Errorf("view %d: %w", i, err)
		}
	}
	if on != q.views.on || on > 0 && q.unexpected.n == 0 {
		return fmt.Errorf("%d views on, counted %d, %d unexpected", on, q.views.on, q.unexpected.n)
	}
	return nil
}

func (l *list[T]) check() error {
	n, prev := 0, (*node[T])(nil)
	for x := l.head; x != nil; x = x.next {
		if x.prev != prev || x.in != l || x.self == nil || prev != nil && prev.seq >= x.seq {
			return fmt.Errorf("node %d is badly linked", n)
		}
		prev = x
		n++
	}
	if l.tail != prev || l.n != n {
		return fmt.Errorf("counted %d, want %d", n, l.n)
	}
	return nil
}

func (t *table[T]) check(want int) error {
	hooks, groups, seen := 0, 0, map[key]bool{}
	for i := range t.buckets {
		for h := t.buckets[i]; h != nil; h = h.chain {
			if t.bucket(h.key) != &t.buckets[i] || seen[h.key] || !h.oldest() {
				return fmt.Errorf("bucket %d: wrong place, twice, or not the oldest: %v", i, h.key)
			}
			seen[h.key] = true
			groups++
			for x := h; ; x = x.next {
				hooks++
				if x.key != h.key || x.self == nil || x.next.prev != x || x != h && (x.chain != nil || x.oldest()) {
					return fmt.Errorf("bucket %d: ring of %v is broken", i, h.key)
				}
				if x.next == h {
					break
				}
			}
		}
	}
	if hooks != want || groups != t.groups || groups > len(t.buckets) {
		return fmt.Errorf("%d hooks, want %d; %d groups, counted %d; %d buckets", hooks, want, t.groups, groups, len(t.buckets))
	}
	return nil
}
