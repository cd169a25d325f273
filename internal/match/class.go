// Classes of posted receives: which ignore masks are in use, by directed and by undirected receives.

package match

// maxFreeClasses bounds the memory kept for masks that were used once.
const maxFreeClasses = 64

// A class counts the indexed receives with one ignore mask, directed or not.
type class struct {
	ignore   uint64
	directed bool
	n        int // receives; a class without any does not exist
	pos      int // in classes.active
	hook     hook[class]
	free     *class
}

// key is what a receive of class c that accepts (src, tag) is indexed by.
func (c *class) key(src, tag uint64) key {
	if !c.directed {
		src = AnySource
	}
	return key{src, tag &^ c.ignore, c.ignore}
}

// classes is the set of the classes that have receives. The zero value is empty.
type classes struct {
	active []*class
	byMask table[class]
	free   *class
	nfree  int
}

// enter counts one more receive and returns its class.
func (s *classes) enter(ignore uint64, directed bool) *class {
	k := key{ignore: ignore}
	if directed {
		k.src = 1
	}
	if h := s.byMask.find(k); h != nil {
		h.self.n++
		return h.self
	}
	c := s.free
	if c == nil {
		c = new(class)
	} else {
		s.free, c.free = c.free, nil
		s.nfree--
	}
	c.ignore, c.directed, c.n, c.pos = ignore, directed, 1, len(s.active)
	s.active = append(s.active, c)
	s.byMask.insert(&c.hook, c, k, 0)
	return c
}

// leave counts one receive less, and drops its class with the last one.
func (s *classes) leave(c *class) {
	if c.n--; c.n > 0 {
		s.byMask.shrink()
		return
	}
	s.byMask.remove(&c.hook)
	last := len(s.active) - 1
	moved := s.active[last]
	s.active[c.pos], moved.pos = moved, c.pos
	s.active[last] = nil
	s.active = s.active[:last]
	if cap(s.active) > maxFreeClasses && last < cap(s.active)/8 {
		s.active = append(make([]*class, 0, cap(s.active)/4), s.active...)
	}
	if s.nfree < maxFreeClasses {
		c.free, s.free = s.free, c
		s.nfree++
	}
}
