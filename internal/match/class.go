// Classes of posted receives: the ignore masks in use, each by directed and by undirected receives.

package match

import (
	"math/bits"
	"math/rand/v2"
)

// maxFreeClasses limits the memory kept for masks that are not in use.
const maxFreeClasses = 64

// A class counts the indexed receives with one ignore mask, directed or not.
type class[R any] struct {
	ignore       uint64
	seed0, seed1 uint64
	directed     bool
	owner        *posted[R]
	n            int // receives; a class without any does not exist
	pos          int // index in classes.active
	entry        tableEntry[class[R]]
	free         *class[R]
}

// from is the source of receives in class c that accept a message from src.
func (c *class[R]) from(src uint64) uint64 {
	if !c.directed {
		return AnySource
	}
	return src
}

// hash mixes the key of class c with seeds of its queue. A peer that chooses tags cannot make them collide, because
// it does not know the seeds.
func (c *class[R]) hash(src, tag uint64) uint64 {
	hi, lo := bits.Mul64(tag&^c.ignore^c.seed0, src^c.seed1)
	hi, lo = bits.Mul64(hi^lo^c.seed0, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// classes is the set of classes that have receives. The zero value is empty.
type classes[R any] struct {
	active       []*class[R]
	last         *class[R] // class added to last, nil if it is gone: the next receive is often of the same
	byMask       table[class[R]]
	free         *class[R] // list of unused classes
	nfree        int
	seed0, seed1 uint64
}

// add counts one more receive of owner and returns its class.
func (s *classes[R]) add(owner *posted[R], ignore uint64, directed bool) *class[R] {
	k := key{ignore: ignore}
	if directed {
		k.src = 1
	}
	if h := s.byMask.find(k); h != nil {
		s.last = h.self
		h.self.n++
		return h.self
	}
	c := s.newClass()
	c.ignore, c.directed, c.owner, c.n, c.pos = ignore, directed, owner, 1, len(s.active)
	hi, lo := bits.Mul64(ignore^s.seed0, s.seed1)
	c.seed0, c.seed1 = hi^lo^s.seed1, lo+s.seed0
	s.active = append(s.active, c)
	s.byMask.insert(&c.entry, c, k, 0)
	s.last = c
	return c
}

// newClass returns a class that is not in use.
func (s *classes[R]) newClass() *class[R] {
	if s.seed1 == 0 {
		s.seed0, s.seed1 = rand.Uint64(), rand.Uint64()|1
	}
	c := s.free
	if c == nil {
		return new(class[R])
	}
	s.free, c.free = c.free, nil
	s.nfree--
	return c
}

// remove counts one receive less, and drops the class with its last one.
func (s *classes[R]) remove(c *class[R]) {
	if c.n--; c.n > 0 {
		if len(s.byMask.buckets) > minBuckets {
			s.byMask.shrink()
		}
		return
	}
	if s.last == c {
		s.last = nil
	}
	s.byMask.remove(&c.entry)
	last := len(s.active) - 1
	moved := s.active[last]
	s.active[c.pos], moved.pos = moved, c.pos
	s.active[last] = nil
	s.active = s.active[:last]
	if cap(s.active) > maxFreeClasses && last < cap(s.active)/8 {
		s.active = append(make([]*class[R], 0, cap(s.active)/4), s.active...)
	}
	if s.nfree < maxFreeClasses {
		c.free, s.free = s.free, c
		s.nfree++
	}
}
