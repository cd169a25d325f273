// The hash table that classes and views use: intrusive, with random seeds, each key once per bucket, equal keys in
// a ring by age.

package match

import (
	"math/bits"
	"math/rand/v2"
)

// minBuckets is the least size of a table that is not empty.
const minBuckets = 64

// A key is what a class compares. The ignored bits of tag are 0, and src is AnySource in undirected classes.
type key struct {
	src, tag, ignore uint64
}

// A tableEntry is an object's place in a table. T is the object that contains it.
type tableEntry[T any] struct {
	key        key
	self       *T
	seq        int64
	chain      *tableEntry[T] // next key in this bucket; only in the oldest entry of a ring
	next, prev *tableEntry[T] // ring of equal keys by seq; prev of the oldest is the youngest
}

// oldest reports whether h is the oldest of its ring, which is the one in the bucket.
func (h *tableEntry[T]) oldest() bool { return h.prev.seq >= h.seq }

// A table is a multimap. The zero value is empty and ready.
type table[T any] struct {
	buckets      []*tableEntry[T] // length a power of two, or nil
	groups       int              // distinct keys
	idle         int              // removals while the table was far too large: see shrink
	seed0, seed1 uint64
}

// bucket mixes the key with seeds of this table. A peer that chooses tags cannot make them collide, because it does
// not know the seeds.
func (t *table[T]) bucket(k key) **tableEntry[T] {
	hi, lo := bits.Mul64(k.src^k.ignore^t.seed0, k.tag^t.seed1)
	hi, lo = bits.Mul64(hi^lo^k.ignore, t.seed0|1)
	return &t.buckets[(hi^lo)&uint64(len(t.buckets)-1)]
}

// find returns the oldest entry with this key, or nil.
func (t *table[T]) find(k key) *tableEntry[T] {
	if t.groups == 0 {
		return nil
	}
	h := *t.bucket(k)
	for h != nil && h.key != k {
		h = h.chain
	}
	return h
}

// insert adds h to the entries of key k, by seq: in constant time at either end, otherwise by walking from the
// youngest.
func (t *table[T]) insert(h *tableEntry[T], self *T, k key, seq int64) {
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

// remove removes h, which must be in t.
func (t *table[T]) remove(h *tableEntry[T]) {
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

// shrink is called after each use of a table that may have become too large. It frees memory only after as many
// uses as there are buckets. It therefore costs little per use, and a queue that fills and drains in turns does not
// allocate each time.
func (t *table[T]) shrink() {
	if len(t.buckets) <= minBuckets || t.groups >= len(t.buckets)/8 {
		return
	}
	if t.idle++; t.idle > len(t.buckets) {
		t.resize(bucketsFor(t.groups))
	}
}

// reset empties the table. The caller clears the entries.
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

// resize moves the entries to n buckets.
func (t *table[T]) resize(n int) {
	if t.buckets == nil {
		t.seed0, t.seed1 = rand.Uint64(), rand.Uint64()
	}
	old := t.buckets
	t.buckets, t.idle = make([]*tableEntry[T], n), 0
	for _, h := range old {
		for h != nil {
			next, p := h.chain, t.bucket(h.key)
			h.chain, *p = *p, h
			h = next
		}
	}
}

// bucketsFor is the smallest size for n keys with a load factor of at most 1.
func bucketsFor(n int) int {
	return max(minBuckets, 1<<bits.Len(uint(max(n-1, 0))))
}
