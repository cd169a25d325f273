// Datagrams that come before their receive is posted. A port delivers every datagram of its socket, so they cannot
// stay there as with native libfabric.

package dgramep

import (
	"net/netip"

	"gofabric/internal/queue"
)

const (
	// earlyBytes bounds the memory of an endpoint for datagrams that came before their receive, in bytes. Linux'
	// default receive buffer is a fifth of it.
	earlyBytes = 1 << 20
	// earlyCost is added to the length of a datagram, so that empty ones are bounded as well.
	earlyCost = 64
	// earlyKeep is the buffer that remains when all datagrams were taken, in bytes.
	earlyKeep = 64 << 10
	earlyMin  = 4 << 10
)

// early holds the datagrams that came before their receive, in order of arrival.
type early struct {
	list queue.FIFO[earlyOne]
	data []byte // their bytes one after the other in a ring; its length is a power of two
	head int
	used int

	dropped uint64 // datagrams lost for lack of room
}

type earlyOne struct {
	from netip.AddrPort
	n    int
}

// add stores a copy of b, if there is room.
func (q *early) add(from netip.AddrPort, b []byte) {
	if q.used+len(b)+(q.list.Len()+1)*earlyCost > earlyBytes {
		q.dropped++
		return
	}
	if q.used+len(b) > len(q.data) {
		q.grow(q.used + len(b))
	}
	q.list.Push(earlyOne{from, len(b)})
	at := (q.head + q.used) & max(len(q.data)-1, 0)
	copy(q.data, b[copy(q.data[at:], b):])
	q.used += len(b)
}

// grow makes room for n bytes in total.
func (q *early) grow(n int) {
	size := max(len(q.data), earlyMin)
	for size < n {
		size *= 2
	}
	more := make([]byte, size)
	k := copy(more, q.data[q.head:min(q.head+q.used, len(q.data))])
	copy(more[k:q.used], q.data)
	q.data, q.head = more, 0
}

// take removes the oldest datagram, of which there must be one. It returns the source and the bytes, in two pieces
// if they wrap around the end of the ring. The bytes are valid until the next call.
func (q *early) take() (from netip.AddrPort, a, b []byte) {
	o := *q.list.At(0)
	q.list.Drop()
	end := q.head + o.n
	if end <= len(q.data) {
		a = q.data[q.head:end]
	} else {
		a, b = q.data[q.head:], q.data[:end-len(q.data)]
	}
	q.head = end & max(len(q.data)-1, 0)
	if q.used -= o.n; q.used == 0 {
		q.head = 0
		if len(q.data) > earlyKeep {
			q.data = nil
		}
	}
	if q.list.Len() == 0 && q.list.Cap() > earlyKeep/earlyCost {
		q.list = queue.FIFO[earlyOne]{}
	}
	return o.from, a, b
}
