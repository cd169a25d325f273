// This file checks the invariants of all structures. The model tests call it after each step.

package match

import "fmt"

func (q *Queue[R, M]) check() error {
	if err := q.posted.check(); err != nil {
		return fmt.Errorf("posted: %w", err)
	}
	if err := q.unexpected.check(); err != nil {
		return fmt.Errorf("unexpected: %w", err)
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

func (p *posted[R]) check() error {
	sum, err := 0, error(nil)
	if p.indexed {
		sum, err = p.table.check()
	} else if n, _ := p.table.check(); n != 0 {
		err = fmt.Errorf("%d in the index, which is off", n)
	}
	if err != nil {
		return err
	}
	counted := 0
	for i, c := range p.classes.active {
		if c.n <= 0 || c.pos != i || c.owner != p {
			return fmt.Errorf("class %d: count %d, pos %d", i, c.n, c.pos)
		}
		counted += c.n
	}
	if err := p.classes.byMask.check(len(p.classes.active)); err != nil {
		return fmt.Errorf("classes: %w", err)
	}
	if counted != sum {
		return fmt.Errorf("classes count %d receives, want %d", counted, sum)
	}
	prev := (*Recv[R])(nil)
	for r := p.head; r != nil; r = r.next {
		if r.prev != prev || r.class != &p.listed || prev != nil && prev.seq >= r.seq {
			return fmt.Errorf("#%d is badly linked", r.seq)
		}
		prev = r
		sum++
	}
	if p.tail != prev || sum != p.n || p.indexed && prev != nil {
		return fmt.Errorf("counted %d, want %d", sum, p.n)
	}
	if p.n == 0 && (p.indexed || p.ageIndex.on) {
		return fmt.Errorf("an empty queue has an index")
	}
	return p.checkAgeIndex()
}

// checkAgeIndex checks that the index has all posted receives once, by age.
func (p *posted[R]) checkAgeIndex() error {
	if !p.ageIndex.on {
		return nil
	}
	n, last := 0, int64(-1)
	for _, e := range p.ageIndex.entries {
		if e.r == nil || e.seq <= last {
			return fmt.Errorf("roster: #%d behind #%d", e.seq, last)
		}
		last = e.seq
		if p.isPosted(e) {
			n++
		}
	}
	if n != p.n {
		return fmt.Errorf("age index: %d entries refer to receives, want %d", n, p.n)
	}
	return nil
}

// check counts the receives of a table.
func (t *postedTable[R]) check() (int, error) {
	receives, keys, past := 0, 0, make([]int, len(t.lines))
	mask := len(t.lines) - 1
	for i := range t.lines {
		for place, r := range t.lines[i].at {
			m := t.lines[i].marks >> (8 * place) & 0xff
			if (r == nil) != (m == 0) {
				return 0, fmt.Errorf("line %d: mark %#x of %v", i, m, r)
			}
			if r == nil {
				continue
			}
			hash := r.class.hash(r.Src, r.Tag)
			if m != mark(hash) || t.find(r.class, hash, r.Src, r.Tag) != r {
				return 0, fmt.Errorf("line %d: wrong mark or place, or twice: #%d", i, r.seq)
			}
			for j := int(hash) & mask; j != i; j = (j + 1) & mask {
				past[j]++
			}
			keys++
			for x := r; ; x = x.next {
				receives++
				if x.next == nil && x.prev == nil && x == r {
					break
				}
				if x.next == x || x.class != r.class || (x.Tag^r.Tag)&^r.class.ignore != 0 || x.Src != r.Src ||
					x.next.prev != x || x.next != r && x.next.seq <= x.seq {
					return 0, fmt.Errorf("line %d: ring of #%d is broken", i, r.seq)
				}
				if x.next == r {
					break
				}
			}
		}
	}
	for i := range past {
		if n := int(t.lines[i].marks >> 56); n != past[i] && n != 255 {
			return 0, fmt.Errorf("line %d: %d counted past, want %d", i, n, past[i])
		}
	}
	if keys != t.keys || keys > meanLoad*len(t.lines) {
		return 0, fmt.Errorf("%d keys, counted %d; %d lines", keys, t.keys, len(t.lines))
	}
	return receives, nil
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
		return fmt.Errorf("%d hooks, want %d; %d groups, counted %d; %d buckets", hooks, want, t.groups, groups,
			len(t.buckets))
	}
	return nil
}
