package dgramep

import (
	"net/netip"

	"gofabric/internal/queue"
)

const (
	// earlyBytes bounds the memory for datagrams of an endpoint that came before their receive, bytes. Linux' default receive buffer is a fifth of it.
	earlyBytes = 1 << 20
	// earlyCost is what a datagram counts beyond its length, so that empty ones are bounded, too.
	earlyCost = 64
	// earlyKeep is the room that stays when everything was taken, bytes.
	earlyKeep = 64 << 10
	earlyMin  = 4 << 10
)

// early holds datagrams that came before their receive, in the order of their coming.
type early struct {
	list queue.FIFO[earlyOne]
	data []byte // their bytes one behind the other, around the end; a power of two long
	head int
	used int

	dropped uint64 // for which there was no room
}

type earlyOne struct {
	from netip.AddrPort
	n    int
}

// add keeps a copy of b, if there is room.
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

// grow makes room for n bytes altogether.
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

// take removes the oldest, of which there must be one, and returns where it came from and its bytes, in two pieces when they go around the end. They are
// valid until the next call.
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
