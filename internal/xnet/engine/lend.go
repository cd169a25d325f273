package engine

// What a connection holds only while it is busy. Everything comes back as it went: cleared, as far as it matters.

func (p *Pool) getIncoming() *incoming {
	in := p.ins
	if in == nil {
		return &incoming{}
	}
	p.ins, in.next = in.next, nil
	return in
}

func (p *Pool) putIncoming(in *incoming) {
	in.next = p.ins
	p.ins = in
}

func (p *Pool) getTable() *rdvTable {
	t := p.tables
	if t == nil {
		return &rdvTable{}
	}
	p.tables, t.next = t.next, nil
	return t
}

func (p *Pool) putTable(t *rdvTable) {
	t.next = p.tables
	p.tables = t
}

// Queues of segments: the longest that is kept, and how many are.
const (
	segsLongest = 256
	segsKeep    = 64
)

// getSegs returns an empty queue of segments.
func (p *Pool) getSegs() []segment {
	n := len(p.segs)
	if n == 0 {
		return make([]segment, 0, 8)
	}
	s := p.segs[n-1]
	p.segs[n-1] = nil
	p.segs = p.segs[:n-1]
	return s
}

// putSegs takes back a queue whose segments were cleared.
func (p *Pool) putSegs(s []segment) {
	if cap(s) > 0 && cap(s) <= segsLongest && len(p.segs) < segsKeep {
		p.segs = append(p.segs, s[:0])
	}
}
