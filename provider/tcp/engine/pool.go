package engine

// Sizes of pooled memory, bytes.
const (
	chunkSize   = 32 << 10 // a staging chunk; a few dozen typical windows of small messages
	smallUnexp  = 4 << 10  // unexpected messages up to this size take pooled buffers
	unexpAtOnce = 256 << 10
	poolKeep    = 64 // pooled chunks kept, beyond which they go to the garbage collector
)

// chunk is staging memory: messages are appended, transmitted in order, and the chunk is reused when all of it has left.
type chunk struct {
	b      []byte // len: staged so far
	unsent int    // bytes not yet transmitted
	next   *chunk
}

// Pool holds the free operations and buffers of a domain. It is guarded by the domain's lock.
type Pool struct {
	chunks  *chunk
	nchunks int
	tx      *TxOp
	rx      *RxOp
	unexp   *message
	small   [][]byte
	// Out counts what is handed out, for leak checks.
	OutChunks, OutTx, OutRx, OutUnexp int
}

// getChunk returns a chunk with room for n bytes, which only large injects make more than chunkSize.
func (p *Pool) getChunk(n int) *chunk {
	p.OutChunks++
	c := p.chunks
	if c == nil || n > chunkSize {
		return &chunk{b: make([]byte, 0, max(n, chunkSize))}
	}
	p.chunks, c.next = c.next, nil
	p.nchunks--
	return c
}

func (p *Pool) putChunk(c *chunk) {
	p.OutChunks--
	if p.nchunks >= poolKeep || cap(c.b) != chunkSize {
		return
	}
	c.b, c.unsent, c.next = c.b[:0], 0, p.chunks
	p.chunks = c
	p.nchunks++
}

func (p *Pool) getTx() *TxOp {
	p.OutTx++
	op := p.tx
	if op == nil {
		return &TxOp{}
	}
	p.tx, op.next = op.next, nil
	return op
}

func (p *Pool) putTx(op *TxOp) {
	p.OutTx--
	*op = TxOp{next: p.tx}
	p.tx = op
}

func (p *Pool) getRx() *RxOp {
	p.OutRx++
	op := p.rx
	if op == nil {
		op = &RxOp{}
		op.node.Value = op
		return op
	}
	p.rx, op.next = op.next, nil
	return op
}

func (p *Pool) putRx(op *RxOp) {
	p.OutRx--
	op.reset()
	op.next = p.rx
	p.rx = op
}

func (p *Pool) getMessage() *message {
	p.OutUnexp++
	m := p.unexp
	if m == nil {
		m = &message{}
		m.node.Value = m
		return m
	}
	p.unexp, m.next = m.next, nil
	return m
}

func (p *Pool) putMessage(m *message) {
	p.OutUnexp--
	for i, b := range m.parts {
		if cap(b) == smallUnexp && len(p.small) < 1024 {
			p.small = append(p.small, b[:0])
		}
		m.parts[i] = nil
	}
	m.reset()
	m.next = p.unexp
	p.unexp = m
}

// buffer returns memory for n bytes of an unexpected message, with length 0.
func (p *Pool) buffer(n int) []byte {
	if n > smallUnexp {
		return make([]byte, 0, n)
	}
	if k := len(p.small); k > 0 {
		b := p.small[k-1]
		p.small[k-1] = nil
		p.small = p.small[:k-1]
		return b
	}
	return make([]byte, 0, smallUnexp)
}
