package queue

import (
	"cmp"
	"iter"
)

// Heap is a binary heap. The value with the least key comes first; values with the same key come in the order in which they got it. Keys stand beside the
// values, so that a comparison calls no function and follows no pointer. The zero Heap is empty.
type Heap[K cmp.Ordered, V any] struct {
	items items[K, V]
	turn  uint64
}

type items[K cmp.Ordered, V any] []item[K, V]

type item[K cmp.Ordered, V any] struct {
	key   K
	turn  uint64 // among those with the same key
	v     V
	place *Place // may be nil
}

// Place is the position of a value in its Heap, by which Set and Remove find it; usually it is a field of the value. The zero Place is in no Heap.
type Place int32

// In reports whether the Place is in a Heap.
func (p Place) In() bool { return p != 0 }

// Len is the number of values.
func (h *Heap[K, V]) Len() int { return len(h.items) }

// Min is the first value; there must be one.
func (h *Heap[K, V]) Min() V { return h.items[0].v }

// MinKey is the key of the first value; there must be one.
func (h *Heap[K, V]) MinKey() K { return h.items[0].key }

// Key is the key of the value at p.
func (h *Heap[K, V]) Key(p Place) K { return h.items[p-1].key }

// Push adds a value without a Place: it leaves by Pop alone.
func (h *Heap[K, V]) Push(key K, v V) { h.push(key, v, nil) }

// Set adds v, or changes its key if p is in the Heap; a value with a new key comes after those that have the key. The Heap keeps p up to date.
func (h *Heap[K, V]) Set(key K, v V, p *Place) {
	if !p.In() {
		h.push(key, v, p)
		return
	}
	i := int(*p) - 1
	h.turn++
	h.items[i].key, h.items[i].turn = key, h.turn
	h.fix(i)
}

func (h *Heap[K, V]) push(key K, v V, p *Place) {
	h.turn++
	h.items = append(h.items, item[K, V]{key, h.turn, v, p})
	h.up(len(h.items) - 1)
}

// Pop takes out the first value and returns it; there must be one.
func (h *Heap[K, V]) Pop() V {
	v := h.items[0].v
	h.remove(0)
	return v
}

// Remove takes out the value at p. Nothing happens if p is in no Heap.
func (h *Heap[K, V]) Remove(p Place) {
	if p.In() {
		h.remove(int(p) - 1)
	}
}

// Rekey gives every value the key that f returns for it; those with the same key stay in the order in which they came.
func (h *Heap[K, V]) Rekey(f func(V) K) {
	for i := range h.items {
		h.items[i].key = f(h.items[i].v)
	}
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// All yields the values in no order. The body must not change the Heap.
func (h *Heap[K, V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for i := range h.items {
			if !yield(h.items[i].v) {
				return
			}
		}
	}
}

// Clear takes out everything and frees the memory.
func (h *Heap[K, V]) Clear() {
	for i := range h.items {
		if p := h.items[i].place; p != nil {
			*p = 0
		}
	}
	h.items = nil
}

func (h *Heap[K, V]) remove(i int) {
	last := len(h.items) - 1
	if p := h.items[i].place; p != nil {
		*p = 0
	}
	if i < last {
		h.items.put(i, &h.items[last])
	}
	h.items[last] = item[K, V]{}
	h.items = h.items[:last]
	if i < last {
		h.fix(i)
	}
}

// fix restores the order around the item at i, whose key has changed.
func (h *Heap[K, V]) fix(i int) {
	if i > 0 && h.items[i].before(&h.items[(i-1)/2]) {
		h.up(i)
	} else if 2*i+1 < len(h.items) {
		h.down(i)
	}
}

func (x *item[K, V]) before(y *item[K, V]) bool {
	return x.key < y.key || x.key == y.key && x.turn < y.turn
}

// put makes x the item at i.
func (s items[K, V]) put(i int, x *item[K, V]) {
	s[i] = *x
	if x.place != nil {
		*x.place = Place(i + 1)
	}
}

// up moves the item at i towards the root. It is written once, when its place is found.
func (h *Heap[K, V]) up(i int) {
	s, x := h.items, h.items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(&s[parent]) {
			break
		}
		s.put(i, &s[parent])
		i = parent
	}
	s.put(i, &x)
}

// down moves the item at i away from the root.
func (h *Heap[K, V]) down(i int) {
	s, x := h.items, h.items[i]
	for {
		c := 2*i + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && s[c+1].before(&s[c]) {
			c++
		}
		if !s[c].before(&x) {
			break
		}
		s.put(i, &s[c])
		i = c
	}
	s.put(i, &x)
}
