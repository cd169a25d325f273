package queue

import (
	"cmp"
	"iter"
)

// Heap is a binary heap. The value with the least key comes first. Values with equal keys come in the order in
// which they got the key: timers of the same time fire in the order in which they were set. Keys are stored beside
// the values, so that a comparison calls no function and follows no pointer. The zero value is empty.
type Heap[K cmp.Ordered, V any] struct {
	items items[K, V]
	order uint64 // number of the last Push or Set
}

// items is the heap as an array: the children of i are 2i+1 and 2i+2.
type items[K cmp.Ordered, V any] []item[K, V]

type item[K cmp.Ordered, V any] struct {
	key   K
	order uint64 // of the Push or Set that gave the key
	v     V
	place *Place // nil if the value has no Place
}

// Place is the position of a value in its Heap, by which Set and Remove find it. It is usually a field of the
// value. The zero Place is in no Heap.
type Place int32

// In reports whether the Place is in a Heap.
func (p Place) In() bool { return p != 0 }

// Len returns the number of values.
func (h *Heap[K, V]) Len() int { return len(h.items) }

// Min returns the first value. There must be one.
func (h *Heap[K, V]) Min() V { return h.items[0].v }

// MinKey returns the key of the first value. There must be one.
func (h *Heap[K, V]) MinKey() K { return h.items[0].key }

// Key returns the key of the value at p, which must be in the Heap.
func (h *Heap[K, V]) Key(p Place) K { return h.items[p-1].key }

// Push adds a value without a Place. Only Pop removes it.
func (h *Heap[K, V]) Push(key K, v V) { h.push(key, v, nil) }

// Set adds v or, if p is in the Heap, changes the key of the value there. A value with a new key comes after the
// others with that key. The Heap updates p when the value moves.
func (h *Heap[K, V]) Set(key K, v V, p *Place) {
	if !p.In() {
		h.push(key, v, p)
		return
	}
	i := int(*p) - 1
	h.order++
	h.items[i].key, h.items[i].order = key, h.order
	h.fix(i)
}

// push adds an item at the end and moves it up.
func (h *Heap[K, V]) push(key K, v V, p *Place) {
	h.order++
	h.items = append(h.items, item[K, V]{key, h.order, v, p})
	h.up(len(h.items) - 1)
}

// Pop removes the first value and returns it. There must be one.
func (h *Heap[K, V]) Pop() V {
	v := h.items[0].v
	h.remove(0)
	return v
}

// Remove removes the value at p. It does nothing if p is in no Heap.
func (h *Heap[K, V]) Remove(p Place) {
	if p.In() {
		h.remove(int(p) - 1)
	}
}

// Rekey gives every value the key that f returns for it. Values with equal keys stay in the order of their last
// Push or Set.
func (h *Heap[K, V]) Rekey(f func(V) K) {
	for i := range h.items {
		h.items[i].key = f(h.items[i].v)
	}
	// Restore the order from the last parent to the root (Floyd).
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// All yields the values in no particular order. The body must not change the Heap.
func (h *Heap[K, V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for i := range h.items {
			if !yield(h.items[i].v) {
				return
			}
		}
	}
}

// Clear removes all values and frees the memory.
func (h *Heap[K, V]) Clear() {
	for i := range h.items {
		if p := h.items[i].place; p != nil {
			*p = 0
		}
	}
	h.items = nil
}

// remove removes the item at i: the last item takes its place.
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

// fix restores the order after the key of the item at i has changed.
func (h *Heap[K, V]) fix(i int) {
	if i > 0 && h.items[i].before(&h.items[(i-1)/2]) {
		h.up(i)
	} else if 2*i+1 < len(h.items) {
		h.down(i)
	}
}

// before reports whether x comes before y.
func (x *item[K, V]) before(y *item[K, V]) bool {
	return x.key < y.key || x.key == y.key && x.order < y.order
}

// put stores x at i and updates its Place.
func (s items[K, V]) put(i int, x *item[K, V]) {
	s[i] = *x
	if x.place != nil {
		*x.place = Place(i + 1)
	}
}

// up moves the item at i towards the root. The item is written once, at its final position.
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
