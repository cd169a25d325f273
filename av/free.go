package av

import "math/bits"

// This file has the set of free indices.

// freeSet is a set of numbers that returns the lowest first. A bit of level 0 stands for a number. A bit of a
// higher level says that a word of the level below is not empty.
type freeSet struct {
	levels [6][]uint64 // 64^6 numbers
}

func (s *freeSet) add(i uint32) {
	for l := range s.levels {
		for int(i/64) >= len(s.levels[l]) {
			s.levels[l] = append(s.levels[l], 0)
		}
		w := &s.levels[l][i/64]
		was := *w
		*w |= 1 << (i % 64)
		if was != 0 {
			return
		}
		i /= 64
	}
}

// takeLowest removes and returns the lowest number.
func (s *freeSet) takeLowest() (uint32, bool) {
	top := len(s.levels) - 1
	if len(s.levels[top]) == 0 || s.levels[top][0] == 0 {
		return 0, false
	}
	i := uint32(0)
	for l := top; l >= 0; l-- {
		i = i*64 + uint32(bits.TrailingZeros64(s.levels[l][i]))
	}
	for l, j := 0, i; l <= top; l, j = l+1, j/64 {
		w := &s.levels[l][j/64]
		if *w &^= 1 << (j % 64); *w != 0 {
			break
		}
	}
	return i, true
}

// remove removes a number that is in the set.
func (s *freeSet) remove(i uint32) {
	for l := range s.levels {
		w := &s.levels[l][i/64]
		if *w &^= 1 << (i % 64); *w != 0 {
			return
		}
		i /= 64
	}
}
