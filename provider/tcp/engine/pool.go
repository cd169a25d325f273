package engine

// Sizes of pooled memory, bytes.
const (
	chunkSize   = 32 << 10 // a staging chunk; a few dozen typical windows of small messages
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
	bufs    [len(bufSizes)][][]byte
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
		if k := bufClass(cap(b)); k >= 0 && len(p.bufs[k]) < bufKeep {
			p.bufs[k] = append(p.bufs[k], b[:0])
		}
		m.parts[i] = nil
	}
	m.reset()
	m.next = p.unexp
	p.unexp = m
}

// bufSizes are the sizes of pooled buffers for unexpected messages; longer ones take memory of their own.
var bufSizes = [...]int{128, 512, 4 << 10}

// bufKeep is how many buffers of a size are kept.
const bufKeep = 1024

// bufClass returns the place in bufSizes of an exact size, -1 if it has none.
func bufClass(size int) int {
	for k, s := range bufSizes {
		if s == size {
			return k
		}
	}
	return -1
}

// buffer returns memory for n bytes of an unexpected message, with length 0.
func (p *Pool) buffer(n int) []byte {
	for k, size := range bufSizes {
		if n > size {
			continue
		}
		free := p.bufs[k]
		if len(free) == 0 {
			return make([]byte, 0, size)
		}
		b := free[len(free)-1]
		free[len(free)-1] = nil
		p.bufs[k] = free[:len(free)-1]
		return b
	}
	return make([]byte, 0, n)
}
