package flow

import (
	"slices"

	"gofabric/util/rxd/wire"
)

// receiver holds data behind holes until the missing data arrives. spans says which bytes of the stream are here.
// The bytes are in pages, each at the place that its offset gives it: a piece is copied once, and pieces may
// overlap or come in any order.
type receiver struct {
	spans        []wire.Range      // ascending, with a hole between each two
	pages        []*[pageSize]byte // ring: page k of the stream is pages[k&(len-1)]; nil: no byte of it is here
	recent       uint64            // offset of the data that arrived last: its span is reported first
	nextReported int               // span to report next, so that all have their turn
	npages       int
}

// holdResult says what hold did with the data.
type holdResult uint8

const (
	heldNew     holdResult = iota // kept
	heldNothing                   // all of it was here before
	heldNoRoom                    // beyond maxSpans or the pool's budget: dropped
)

// hold copies b, which begins at offset start of the stream. base is the first byte that is not delivered. The
// caller has checked that b ends within the window.
func (r *receiver) hold(p *Pool, base, start uint64, b []byte) holdResult {
	end := start + uint64(len(b))
	// i is the first span that ends at start or behind it.
	i, _ := slices.BinarySearchFunc(r.spans, start, func(s wire.Range, off uint64) int {
		switch {
		case s.End < off:
			return -1
		case s.End > off:
			return 1
		}
		return 0
	})
	r.recent = start
	// All of it is here already.
	if i < len(r.spans) && r.spans[i].Start <= start && end <= r.spans[i].End {
		return heldNothing
	}
	j := i
	// b joins the spans from i to j-1, which it overlaps or touches.
	for j < len(r.spans) && r.spans[j].Start <= end {
		j++
	}
	// A new span, and there are too many: the list must stay short, for it is searched and shifted.
	if i == j && len(r.spans) >= maxSpans {
		return heldNoRoom
	}
	if !r.store(p, base, start, b) {
		return heldNoRoom
	}
	// It touches no other span.
	if i == j {
		r.spans = slices.Insert(r.spans, i, wire.Range{Start: start, End: end})
		return heldNew
	}
	// Join the spans that it connects.
	r.spans[i] = wire.Range{Start: min(start, r.spans[i].Start), End: max(end, r.spans[j-1].End)}
	r.spans = slices.Delete(r.spans, i+1, j)
	return heldNew
}

// store copies b into pages. It returns false if the pool's budget has no room.
func (r *receiver) store(p *Pool, base, start uint64, b []byte) bool {
	end := start + uint64(len(b))
	first := base / pageSize
	// The ring must reach from the first undelivered byte to the end of b.
	for need := int((end-1)/pageSize-first) + 1; need > len(r.pages); {
		r.growPages(max(need, 2*len(r.pages), 4), first)
	}
	mask := uint64(len(r.pages) - 1)
	// Count the missing pages first, so that the budget is asked once and nothing is half done.
	need := 0
	for k := start / pageSize; k <= (end-1)/pageSize; k++ {
		if r.pages[k&mask] == nil {
			need++
		}
	}
	if !p.affords(need) {
		return false
	}
	for k := start / pageSize; k <= (end-1)/pageSize; k++ {
		if r.pages[k&mask] == nil {
			r.pages[k&mask] = p.page()
			r.npages++
		}
	}
	// Copy page by page.
	for off := start; len(b) > 0; {
		n := copy(r.pages[off/pageSize&mask][off%pageSize:], b)
		b, off = b[n:], off+uint64(n)
	}
	return true
}

// growPages enlarges the ring to n pages or more. first is the page of the stream that the ring begins with.
func (r *receiver) growPages(n int, first uint64) {
	size := 4
	for size < n {
		size *= 2
	}
	pages := make([]*[pageSize]byte, size)
	for k := range uint64(len(r.pages)) {
		// A page keeps its number, and gets another place in the larger ring.
		pages[(first+k)&uint64(size-1)] = r.pages[(first+k)&uint64(len(r.pages)-1)]
	}
	r.pages = pages
}

// firstBytes returns the first bytes of the first span, up to the end of their page.
func (r *receiver) firstBytes() []byte {
	s := r.spans[0]
	pg := r.pages[s.Start/pageSize&uint64(len(r.pages)-1)]
	lo := s.Start % pageSize
	return pg[lo:min(pageSize, lo+s.End-s.Start)]
}

// releaseBefore drops what is before offset to, and gives the pages back that are no longer needed. There is
// something before it.
func (r *receiver) releaseBefore(p *Pool, to uint64) {
	from := r.spans[0].Start
	// Drop the spans before to, and shorten the one that contains it.
	n := 0
	for n < len(r.spans) && r.spans[n].End <= to {
		n++
	}
	if r.spans = slices.Delete(r.spans, 0, n); len(r.spans) > 0 {
		r.spans[0].Start = max(r.spans[0].Start, to)
	}
	mask := uint64(len(r.pages) - 1)
	for k := from / pageSize; k < to/pageSize; k++ {
		r.free(p, k&mask)
	}
	// The page with offset to is still needed if a span begins in it.
	if len(r.spans) == 0 || r.spans[0].Start/pageSize != to/pageSize {
		r.free(p, to/pageSize&mask)
	}
}

// free gives back the page in a slot, if there is one.
func (r *receiver) free(p *Pool, slot uint64) {
	if r.pages[slot] != nil {
		p.putPage(r.pages[slot])
		r.pages[slot] = nil
		r.npages--
	}
}

// releaseAll gives all pages back.
func (r *receiver) releaseAll(p *Pool) {
	r.spans = r.spans[:0]
	if r.npages == 0 {
		return
	}
	for k := range r.pages {
		r.free(p, uint64(k))
	}
}

// fillSACK puts SACK blocks into a header: first the span that arrived last (RFC 2018, 4), then the others in turn.
// A peer thus learns of every span even if acknowledgements are lost.
func (r *receiver) fillSACK(h *wire.XHeader) {
	n := len(r.spans)
	// All spans fit into one header.
	if n <= wire.MaxSACK {
		h.NSACK = uint8(copy(h.SACK[:], r.spans))
		return
	}
	first, _ := slices.BinarySearchFunc(r.spans, r.recent, func(s wire.Range, off uint64) int {
		if s.End <= off {
			return -1
		}
		return 1
	})
	k := 0
	if first < n {
		h.SACK[0], k = r.spans[first], 1
	}
	// The others in turn, so that the peer learns of each within a few acknowledgements.
	for ; k < wire.MaxSACK; k++ {
		if r.nextReported >= n {
			r.nextReported = 0
		}
		h.SACK[k] = r.spans[r.nextReported]
		r.nextReported++
	}
	h.NSACK = wire.MaxSACK
}
