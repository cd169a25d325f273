package flow

import (
	"slices"

	"gofabric/util/rxd/wire"
)

// receiver holds data behind holes: its bytes in pages, each at the place that its offset gives it, and which of them are here in spans.
type receiver struct {
	spans  []wire.Range      // ascending, apart
	pages  []*[pageSize]byte // ring: page k of the stream is in pages[k&(len-1)]; nil: nothing of it is here
	recent uint64            // offset of what came last: its span is reported first
	turn   int               // span to report next, so that all are in turn
	npages int
}

// held is what became of data to hold.
type held uint8

const (
	heldNew held = iota
	heldNothing
	heldNoRoom
)

// hold copies b, which begins at offset start of the stream, of which base is the first byte not delivered. The caller has checked the window.
func (r *receiver) hold(p *Pool, base, start uint64, b []byte) held {
	end := start + uint64(len(b))
	i, _ := slices.BinarySearchFunc(r.spans, start, func(s wire.Range, off uint64) int { // the first span that ends at start or later
		switch {
		case s.End < off:
			return -1
		case s.End > off:
			return 1
		}
		return 0
	})
	r.recent = start
	if i < len(r.spans) && r.spans[i].Start <= start && end <= r.spans[i].End {
		return heldNothing
	}
	j := i
	for j < len(r.spans) && r.spans[j].Start <= end {
		j++
	}
	if i == j && len(r.spans) >= maxSpans {
		return heldNoRoom
	}
	if !r.store(p, base, start, b) {
		return heldNoRoom
	}
	if i == j {
		r.spans = slices.Insert(r.spans, i, wire.Range{Start: start, End: end})
		return heldNew
	}
	r.spans[i] = wire.Range{Start: min(start, r.spans[i].Start), End: max(end, r.spans[j-1].End)}
	r.spans = slices.Delete(r.spans, i+1, j)
	return heldNew
}

// store copies into pages; false: no room.
func (r *receiver) store(p *Pool, base, start uint64, b []byte) bool {
	end := start + uint64(len(b))
	first := base / pageSize
	for need := int((end-1)/pageSize-first) + 1; need > len(r.pages); {
		r.widen(max(need, 2*len(r.pages), 4), first)
	}
	mask := uint64(len(r.pages) - 1)
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
	for off := start; len(b) > 0; {
		n := copy(r.pages[off/pageSize&mask][off%pageSize:], b)
		b, off = b[n:], off+uint64(n)
	}
	return true
}

// widen makes the ring of pages hold n pages or more, the first of which is page first of the stream.
func (r *receiver) widen(n int, first uint64) {
	size := 4
	for size < n {
		size *= 2
	}
	pages := make([]*[pageSize]byte, size)
	for k := range uint64(len(r.pages)) {
		pages[(first+k)&uint64(size-1)] = r.pages[(first+k)&uint64(len(r.pages)-1)]
	}
	r.pages = pages
}

// front returns the first bytes of the first span, as many as are in one page.
func (r *receiver) front() []byte {
	s := r.spans[0]
	pg := r.pages[s.Start/pageSize&uint64(len(r.pages)-1)]
	lo := s.Start % pageSize
	return pg[lo:min(pageSize, lo+s.End-s.Start)]
}

// forget gives back what is before offset to. Something is.
func (r *receiver) forget(p *Pool, to uint64) {
	from := r.spans[0].Start
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
	if len(r.spans) == 0 || r.spans[0].Start/pageSize != to/pageSize {
		r.free(p, to/pageSize&mask)
	}
}

func (r *receiver) free(p *Pool, slot uint64) {
	if r.pages[slot] != nil {
		p.putPage(r.pages[slot])
		r.pages[slot] = nil
		r.npages--
	}
}

// drop gives all pages back.
func (r *receiver) drop(p *Pool) {
	r.spans = r.spans[:0]
	if r.npages == 0 {
		return
	}
	for k := range r.pages {
		r.free(p, uint64(k))
	}
}

// report puts SACK blocks into a header: the span of what came last first (RFC 2018, section 4), then the others in turn.
func (r *receiver) report(h *wire.XHeader) {
	n := len(r.spans)
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
	for ; k < wire.MaxSACK; k++ {
		if r.turn >= n {
			r.turn = 0
		}
		h.SACK[k] = r.spans[r.turn]
		r.turn++
	}
	h.NSACK = wire.MaxSACK
}
