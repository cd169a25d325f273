package engine

import "gofabric/internal/xnet/wire"

// Sizes of pooled memory, bytes.
const (
	chunkSize   = 32 << 10 // a staging chunk; a few dozen typical windows of small messages
	smallSize   = 2 << 10  // the first one of connections that keep what they have sent
	unexpAtOnce = 256 << 10
	smallKeep   = 1024
	unexpKeep   = 8192 // unexpected messages: what a sender that does not wait has under way
	poolKeep    = 64   // pooled chunks kept, beyond which they go to the garbage collector
)

// chunk is staging memory: messages are appended, transmitted in order, and the chunk is reused when all of it has left.
type chunk struct {
	b      []byte // len: staged so far
	unsent int    // bytes not yet transmitted
	next   *chunk
}

// Pool holds the free operations and buffers of a domain. It is guarded by the domain's lock.
type Pool struct {
	run     openRun
	joined  int // messages, see Conn.Join
	chunks  *chunk
	smalls  *chunk
	nchunks int
	nsmalls int
	nunexp  int
	tx      *TxOp
	txSeq   uint32
	rx      *RxOp
	multis  *multiBuffer
	unexp   *message
	atomics *Atomic
	arrays  *atomicIn
	ins     *incoming
	tables  *rdvTable
	segs    [][]segment

	// Scratch of whatever connection is at work.
	hdr     wire.Header // the message that has come
	scratch wire.Header // the one that is made
	done    Completion

	bufs [len(bufSizes)][][]byte
	long longBuffers
	// Out counts what is handed out, for leak checks.
	OutChunks, OutTx, OutRx, OutUnexp, OutAtomic int
}

// getSmall returns a chunk of smallSize.
func (p *Pool) getSmall() *chunk {
	p.OutChunks++
	c := p.smalls
	if c == nil {
		return &chunk{b: make([]byte, 0, smallSize)}
	}
	p.smalls, c.next = c.next, nil
	p.nsmalls--
	return c
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
	c.b, c.unsent, c.next = c.b[:0], 0, nil
	switch {
	case cap(c.b) == chunkSize && p.nchunks < poolKeep:
		c.next, p.chunks = p.chunks, c
		p.nchunks++
	case cap(c.b) == smallSize && p.nsmalls < smallKeep:
		c.next, p.smalls = p.smalls, c
		p.nsmalls++
	}
}

func (p *Pool) getTx() *TxOp {
	p.OutTx++
	op := p.tx
	if op == nil {
		op = &TxOp{}
	} else {
		p.tx, op.next = op.next, nil
	}
	p.txSeq++
	op.seq = p.txSeq
	return op
}

func (p *Pool) putTx(op *TxOp) {
	p.OutTx--
	if op.Atomic != nil {
		p.putAtomic(op.Atomic)
	}
	*op = TxOp{next: p.tx}
	p.tx = op
}

// getAtomic returns a copy of a.
func (p *Pool) getAtomic(a *Atomic) *Atomic {
	p.OutAtomic++
	b := p.atomics
	if b == nil {
		b = &Atomic{}
	} else {
		p.atomics = b.next
	}
	*b = *a
	b.next = nil
	return b
}

func (p *Pool) putAtomic(a *Atomic) {
	p.OutAtomic--
	*a = Atomic{next: p.atomics}
	p.atomics = a
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

func (p *Pool) getMulti() *multiBuffer {
	mb := p.multis
	if mb == nil {
		return &multiBuffer{}
	}
	p.multis = mb.next
	*mb = multiBuffer{}
	return mb
}

func (p *Pool) putMulti(mb *multiBuffer) { mb.next, p.multis = p.multis, mb }

func (p *Pool) getMessage() *message {
	p.OutUnexp++
	m := p.unexp
	if m == nil {
		m = &message{}
		m.node.Value = m
		return m
	}
	p.unexp, m.next = m.next, nil
	p.nunexp--
	return m
}

func (p *Pool) putMessage(m *message) {
	p.OutUnexp--
	for i, b := range m.parts {
		p.putBuffer(b)
		m.parts[i] = nil
	}
	if p.nunexp >= unexpKeep {
		return
	}
	m.reset()
	m.next = p.unexp
	p.unexp = m
	p.nunexp++
}

// bufSizes are the sizes of pooled buffers for unexpected messages; longer ones take memory of their own, of which the latest is kept (long.go).
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
	return p.longBuffer(n)
}

// putBuffer takes back memory from buffer.
func (p *Pool) putBuffer(b []byte) {
	switch k := bufClass(cap(b)); {
	case k < 0:
		p.putLong(b)
	case len(p.bufs[k]) < bufKeep:
		p.bufs[k] = append(p.bufs[k], b[:0])
	}
}
