package engine

// bufSizes are the sizes of pooled buffers for unexpected messages. Longer messages have memory of their own size.
var bufSizes = [...]int{128, 512, 4 << 10}

// Free buffers that are kept: the number of each size, and the number and bytes of longer ones. Early steps of
// collective operations are long unexpected messages of the same few lengths again and again.
const (
	bufKeep   = 1024
	longKeep  = 32
	longBytes = 4 << 20
)

// bufferPool has the free buffers of a domain.
type bufferPool struct {
	bufs [len(bufSizes)][][]byte
	long longBuffers
}

// longBuffers are the free buffers that are longer than bufSizes, the latest last.
type longBuffers struct {
	list  [longKeep][]byte
	n     int
	bytes int
}

// bufClass returns the index of an exact size in bufSizes, or -1.
func bufClass(size int) int {
	for k, s := range bufSizes {
		if s == size {
			return k
		}
	}
	return -1
}

// buffer returns memory for n bytes, of length 0.
func (p *bufferPool) buffer(n int) []byte {
	for k, size := range bufSizes {
		// Try the next larger size.
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
	return p.long.get(n)
}

// putBuffer takes memory back.
func (p *bufferPool) putBuffer(b []byte) {
	switch k := bufClass(cap(b)); {
	case k < 0:
		p.long.put(b)
	case len(p.bufs[k]) < bufKeep:
		p.bufs[k] = append(p.bufs[k], b[:0])
	}
}

// get returns memory for n bytes, at most twice as many: a message counts for all of its buffer.
func (l *longBuffers) get(n int) []byte {
	for i := l.n - 1; i >= 0; i-- {
		if b := l.list[i]; cap(b) >= n && cap(b)/2 <= n {
			l.drop(i)
			return b
		}
	}
	return make([]byte, 0, n)
}

// put takes memory back, in place of the buffer that has been free for longest if there are too many.
func (l *longBuffers) put(b []byte) {
	// Not from long, or so long that it would push out all others.
	if cap(b) <= bufSizes[len(bufSizes)-1] || cap(b) > longBytes/4 {
		return
	}
	// Drop the oldest until there is room.
	for l.n == longKeep || l.bytes+cap(b) > longBytes {
		l.drop(0)
	}
	l.list[l.n] = b[:0]
	l.n++
	l.bytes += cap(b)
}

// drop removes the i-th buffer.
func (l *longBuffers) drop(i int) {
	l.bytes -= cap(l.list[i])
	copy(l.list[i:l.n], l.list[i+1:l.n])
	l.n--
	l.list[l.n] = nil
}
