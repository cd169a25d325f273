// The hash table below classes and views: intrusive, seeded, with each key once per bucket and equal keys in a ring by age.

package match

import (
	"math/bits"
	"math/rand/v2"
)

const minBuckets = 64

// A key is what a class compares. The tag has lost its ignored bits already; src is AnySource in undirected classes.
type key struct {
	src, tag, ignore uint64
}

// A hook is an object's place in a table. T is the object that contains the hook.
type hook[T any] struct {
	key        key
	self       *T
	seq        int64
	chain      *hook[T] // the next key in this bucket; used only in the oldest hook of a ring
	next, prev *hook[T] // the ring of equal keys, by seq; the oldest one's prev is the youngest
}

// oldest tells whether h heads its ring, and is therefore the one that stands in the bucket.
func (h *hook[T]) oldest() bool { return h.prev.seq >= h.seq }

// A table is a multimap. The zero value is empty and ready.
type table[T any] struct {
	buckets      []*hook[T] // power of two, or nil
	groups       int        // distinct keys
	idle         int        // removals while far too large, see shrink
	seed0, seed1 uint64
}

// bucket mixes the key with seeds of this table, so that nobody who merely picks tags can make them collide.
func (t *table[T]) bucket(k key) **hook[T] {
	hi, lo := bits.Mul64(k.src^k.ignore^t.seed0, k.tag^t.seed1)
	hi, lo = bits.Mul64(hi^lo^k.ignore, t.seed0|1)
	return &t.buckets[(hi^lo)&uint64(len(t.buckets)-1)]
}

// find returns the oldest hook with this key, or nil.
func (t *table[T]) find(k key) *hook[T] {
	if t.groups == 0 {
		return nil
	}
	h := *t.bucket(k)
	for h != nil && h.key != k {
		h = h.chain
	}
	return h
}

// insert puts h among the hooks of key k, by seq: at either end in no time, in between by walking from the youngest.
func (t *table[T]) insert(h *hook[T], self *T, k key, seq int64) {
	if t.groups >= len(t.buckets) {
		t.resize(max(minBuckets, 2*len(t.buckets)))
	}
	h.key, h.self, h.seq = k, self, seq
	p := t.bucket(k)
	for *p != nil && (*p).key != k {
		p = &(*p).chain
	}
	old := *p
	if old == nil {
		h.next, h.prev, *p = h, h, h
		t.groups++
		if t.groups >= len(t.buckets)/8 {
			t.idle = 0
		}
		return
	}
	before := old.prev
	if seq < old.seq {
		h.chain, old.chain, *p = old.chain, nil, h
	} else {
		for before.seq > seq {
			before = before.prev
		}
	}
	h.prev, h.next = before, before.next
	h.prev.next, h.next.prev = h, h
}

// remove takes h, which must be in t, out.
func (t *table[T]) remove(h *hook[T]) {
	alone := h.next == h
	if h.oldest() {
		p := t.bucket(h.key)
		for *p != h {
			p = &(*p).chain
		}
		if alone {
			*p = h.chain
			t.groups--
		} else {
			h.next.chain, *p = h.chain, h.next
		}
	}
	if !alone {
		h.prev.next, h.next.prev = h.next, h.prev
	}
	h.self, h.chain, h.next, h.prev = nil, nil, nil, nil
	t.shrink()
}

// shrink is called after each use of a table that may have become too large. It gives memory back only after as many uses as there are buckets,
// so that it costs little per use, and a queue that fills and drains in turns does not allocate each time.
func (t *table[T]) shrink() {
	if len(t.buckets) <= minBuckets || t.groups >= len(t.buckets)/8 {
		return
	}
	if t.idle++; t.idle > len(t.buckets) {
		t.resize(bucketsFor(t.groups))
	}
}

// reset forgets all hooks, which the caller clears.
func (t *table[T]) reset() {
	clear(t.buckets)
	t.groups = 0
}

// reserve prepares an empty table for n keys.
func (t *table[T]) reserve(n int) {
	if want := bucketsFor(n); want > len(t.buckets) || want < len(t.buckets)/64 {
		t.resize(want)
	}
}

func (t *table[T]) resize(n int) {
	if t.buckets == nil {
		t.seed0, t.seed1 = rand.Uint64(), rand.Uint64()
	}
	old := t.buckets
	t.buckets, t.idle = make([]*hook[T], n), 0
	for _, h := range old {
		for h != nil {
			next, p := h.chain, t.bucket(h.key)
			h.chain, *p = *p, h
			h = next
		}
	}
}

// bucketsFor is the smallest size that holds n keys with a load of at most one.
func bucketsFor(n int) int {
	return max(minBuckets, 1<<bits.Len(uint(max(n-1, 0))))
}
