package gateway

// slots holds values under small numbers that are used again. A name also has a generation, so that the name of a
// value that was removed is recognised: a peer may repeat an old one.
type slots[T any] struct {
	s    []slot[T]
	free []uint32 // unused indices
}

type slot[T any] struct {
	v    T
	gen  uint32
	used bool
}

// add stores v and returns its name.
func (s *slots[T]) add(v T) uint64 {
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = uint32(len(s.s))
		s.s = append(s.s, slot[T]{})
	}
	x := &s.s[i]
	x.v, x.used = v, true
	// A new generation makes old names invalid.
	x.gen = (x.gen + 1) & genMask
	return uint64(x.gen)<<32 | uint64(i)
}

// genMask leaves 8 bits above the generation for the kind of a token.
const genMask = 1<<24 - 1

// get returns the value with this name, or nil. Names come from peers, so any number is allowed.
func (s *slots[T]) get(name uint64) *T {
	i := uint32(name)
	if int64(i) >= int64(len(s.s)) || !s.s[i].used || uint64(s.s[i].gen) != name>>32 {
		return nil
	}
	return &s.s[i].v
}

// remove removes a value that is there.
func (s *slots[T]) remove(name uint64) {
	x := &s.s[uint32(name)]
	var none T
	x.v, x.used = none, false
	s.free = append(s.free, uint32(name))
}

// len returns the number of values.
func (s *slots[T]) len() int { return len(s.s) - len(s.free) }

// each calls f for every value.
func (s *slots[T]) each(f func(*T)) {
	for i := range s.s {
		if s.s[i].used {
			f(&s.s[i].v)
		}
	}
}
