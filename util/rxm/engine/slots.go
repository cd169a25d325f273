package engine

// slots holds values under small numbers that are used again. The numbers carry a generation, so that a name for a value that is gone is known as such.
type slots[T any] struct {
	s    []slot[T]
	free []uint32
}

type slot[T any] struct {
	v    T
	gen  uint32
	used bool
}

// add keeps v and returns its name.
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
	x.gen = (x.gen + 1) & genMask
	return uint64(x.gen)<<32 | uint64(i)
}

// genMask leaves room for the kind of a token above a generation.
const genMask = 1<<24 - 1

// get returns the value with this name, nil if there is none.
func (s *slots[T]) get(name uint64) *T {
	i := uint32(name)
	if int64(i) >= int64(len(s.s)) || !s.s[i].used || uint64(s.s[i].gen) != name>>32 {
		return nil
	}
	return &s.s[i].v
}

// remove forgets a value that is there.
func (s *slots[T]) remove(name uint64) {
	x := &s.s[uint32(name)]
	var none T
	x.v, x.used = none, false
	s.free = append(s.free, uint32(name))
}

func (s *slots[T]) len() int { return len(s.s) - len(s.free) }

// each calls f for all values.
func (s *slots[T]) each(f func(*T)) {
	for i := range s.s {
		if s.s[i].used {
			f(&s.s[i].v)
		}
	}
}
