package fabric

import (
	"cmp"
	"slices"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// heap holds the frames that are on their way, the one that arrives next first.
type heap []*link.Frame

func before(a, b *link.Frame) bool { return a.At < b.At || a.At == b.At && a.Turn < b.Turn }

func (h *heap) push(f *link.Frame) {
	*h = append(*h, f)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !before(s[i], s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// order makes a heap of frames whose times have changed.
func (h heap) order() {
	slices.SortFunc(h, func(a, b *link.Frame) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Turn, b.Turn)) })
}

func (h *heap) pop() *link.Frame {
	s := *h
	first, last := s[0], len(s)-1
	s[0], s[last] = s[last], nil
	s = s[:last]
	*h = s
	for i := 0; ; {
		down := 2*i + 1
		if down >= len(s) {
			return first
		}
		if down+1 < len(s) && before(s[down+1], s[down]) {
			down++
		}
		if !before(s[down], s[i]) {
			return first
		}
		s[i], s[down] = s[down], s[i]
		i = down
	}
}
