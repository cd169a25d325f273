package engine

// bufSizes are the sizes of pooled buffers for unexpected messages. Longer messages take memory of their own.
var bufSizes = [...]int{128, 512, 4 << 10}

// Free buffers that are kept: how many of each size; and of the longer ones, how many, and how many bytes in all. Steps
// of collective operations that come early are long unexpected messages of the same few lengths again and again.
const (
	bufKeep   = 1024
	longKeep  = 32
	longBytes = 4 << 20
)

// bufferPool holds the free buffers of a domain.
type bufferPool struct {
	bufs [len(bufSizes)][][]byte
	long longBuffers
}

// longBuffers are free buffers longer than bufSizes, the latest last.
type longBuffers struct {
	list  [longKeep][]byte
	n     int
	bytes int
}

// bufClass returns the place in bufSizes of an exact size, -1 if it has none.
func bufClass(size int) int {
	for k, s := range bufSizes {
		if s == size {
			return k
		}
	}
	return -1
}

// buffer returns memory for n bytes, with length 0.
func (p *bufferPool) buffer(n int) []byte {
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
	return p.long.get(n)
}

// putBuffer takes back memory from buffer.
func (p *bufferPool) putBuffer(b []byte) {
	switch k := bufClass(cap(b)); {
	case k < 0:
		p.long.put(b)
	case len(p.bufs[k]) < bufKeep:
		p.bufs[k] = append(p.bufs[k], b[:0])
	}
}

// get returns memory for n bytes, and for no more than twice as many: a message's budget pays for all of it.
func (l *longBuffers) get(n int) []byte {
	for i := l.n - 1; i >= 0; i-- {
		if b := l.list[i]; cap(b) >= n && cap(b)/2 <= n {
			l.drop(i)
			return b
		}
	}
	return make([]byte, 0, n)
}

// put takes memory back, if need be in place of the buffer that has been free for longest.
func (l *longBuffers) put(b []byte) {
	if cap(b) <= bufSizes[len(bufSizes)-1] || cap(b) > longBytes/4 {
		return
	}
	for l.n == longKeep || l.bytes+cap(b) > longBytes {
		l.drop(0)
	}
	l.list[l.n] = b[:0]
	l.n++
	l.bytes += cap(b)
}

func (l *longBuffers) drop(i int) {
	l.bytes -= cap(l.list[i])
	copy(l.list[i:l.n], l.list[i+1:l.n])
	l.n--
	l.list[l.n] = nil
}
