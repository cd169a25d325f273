package engine

// Sizes of chunks, in bytes.
const (
	chunkSize = 32 << 10 // a few dozen typical windows of small messages
	smallSize = 2 << 10  // first chunk of a connection that keeps sent bytes (Config.Frugal)
)

// Free memory that is kept. The garbage collector gets what is beyond.
const (
	chunksKept  = 64
	smallsKept  = 1024
	segsKept    = 64
	segsLongest = 256 // segments of a queue that is kept
)

// chunk is staging memory. Messages are appended and transmitted in order. The chunk is used again when all of it
// has left.
type chunk struct {
	b      []byte // len: staged so far
	unsent int    // bytes not yet transmitted
	next   *chunk
}

// stagePool has the free staging memory of a domain. An idle connection has none of its own.
type stagePool struct {
	open    openMessage // the coalesced message that can still grow
	chunks  *chunk
	smalls  *chunk
	nchunks int
	nsmalls int
	segs    [][]segment
	// OutChunks counts chunks in use. Tests use it to find leaks.
	OutChunks int
}

// getSmall returns a chunk of smallSize.
func (p *stagePool) getSmall() *chunk {
	p.OutChunks++
	c := p.smalls
	if c == nil {
		return &chunk{b: make([]byte, 0, smallSize)}
	}
	p.smalls, c.next = c.next, nil
	p.nsmalls--
	return c
}

// getChunk returns a chunk with room for n bytes. Only large injects need more than chunkSize.
func (p *stagePool) getChunk(n int) *chunk {
	p.OutChunks++
	c := p.chunks
	if c == nil || n > chunkSize {
		return &chunk{b: make([]byte, 0, max(n, chunkSize))}
	}
	p.chunks, c.next = c.next, nil
	p.nchunks--
	return c
}

// putChunk takes a chunk back.
func (p *stagePool) putChunk(c *chunk) {
	p.OutChunks--
	c.b, c.unsent, c.next = c.b[:0], 0, nil
	switch {
	// Chunks of other sizes are not kept.
	case cap(c.b) == chunkSize && p.nchunks < chunksKept:
		c.next, p.chunks = p.chunks, c
		p.nchunks++
	case cap(c.b) == smallSize && p.nsmalls < smallsKept:
		c.next, p.smalls = p.smalls, c
		p.nsmalls++
	}
}

// getSegs returns an empty list of segments.
func (p *stagePool) getSegs() []segment {
	n := len(p.segs)
	if n == 0 {
		return make([]segment, 0, 8)
	}
	s := p.segs[n-1]
	p.segs[n-1] = nil
	p.segs = p.segs[:n-1]
	return s
}

// putSegs takes a list back, whose segments were cleared.
func (p *stagePool) putSegs(s []segment) {
	if cap(s) > 0 && cap(s) <= segsLongest && len(p.segs) < segsKept {
		p.segs = append(p.segs, s[:0])
	}
}
