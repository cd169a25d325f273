package engine

// Long unexpected messages: steps of collective operations that come before they are expected are such, again and again of the same few lengths.

// What is kept of their memory: how many pieces, and how many bytes altogether.
const (
	longKeep  = 32
	longBytes = 4 << 20
)

// longBuffers are free buffers longer than bufSizes, the latest last.
type longBuffers struct {
	list  [longKeep][]byte
	n     int
	bytes int
}

// longBuffer returns memory for n bytes, and not for more than twice as many: who pays for it pays for all of it.
func (p *Pool) longBuffer(n int) []byte {
	l := &p.long
	for i := l.n - 1; i >= 0; i-- {
		if b := l.list[i]; cap(b) >= n && cap(b)/2 <= n {
			l.drop(i)
			return b
		}
	}
	return make([]byte, 0, n)
}

// putLong takes memory back, if need be in place of what has not been wanted for longest.
func (p *Pool) putLong(b []byte) {
	l := &p.long
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
