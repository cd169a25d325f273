package impair

import (
	"net/netip"

	"gofabric/internal/mono"
)

// What is on its way.

// itemOverhead is what a kept datagram counts beyond its bytes, so that empty ones are not free.
const itemOverhead = 128

// freeMax bounds the memory of items that wait to be used again, bytes.
const freeMax = 1 << 20

// Item is a datagram, or a run of datagrams, in a Queue.
type Item struct {
	Addr netip.AddrPort // where it goes, or comes from
	B    []byte
	Seg  int // bytes per datagram of a run, 0: one datagram

	Owner any // for whoever owns the queue; an item never changes queues

	at    mono.Time
	order uint64 // among those of the same time
	pos   int    // in the heap, -1 outside
	gen   uint32 // of the item's use
}

// Queue holds datagrams until their time comes. Its memory is bounded by Max and used again. The zero Queue, with Max set, is ready to use.
type Queue struct {
	Max int // bytes, with some overhead for each datagram

	heap   []*Item
	free   []*Item
	bytes  int
	spare  int // bytes of free
	orders uint64
}

// Add copies the concatenation of parts into the queue, bit number flip of it turned over unless flip is negative. It returns nil when there is no room.
// gen is for Hurry.
func (q *Queue) Add(at mono.Time, addr netip.AddrPort, parts [][]byte, seg, flip int) (it *Item, gen uint32) {
	n := itemOverhead
	for _, p := range parts {
		n += len(p)
	}
	if q.bytes+n > q.Max {
		return nil, 0
	}
	q.bytes += n
	it = q.take()
	for _, p := range parts {
		it.B = append(it.B, p...)
	}
	if flip >= 0 && flip/8 < len(it.B) {
		it.B[flip/8] ^= 1 << (flip % 8)
	}
	it.Addr, it.Seg, it.at = addr, seg, at
	q.push(it)
	return it, it.gen
}

func (q *Queue) take() *Item {
	last := len(q.free) - 1
	if last < 0 {
		return &Item{pos: -1}
	}
	it := q.free[last]
	q.free[last] = nil
	q.free = q.free[:last]
	q.spare -= cap(it.B) + itemOverhead
	return it
}

func (q *Queue) push(it *Item) {
	q.orders++
	it.order = q.orders
	it.pos = len(q.heap)
	q.heap = append(q.heap, it)
	q.up(it.pos)
}

// Len is the number of items.
func (q *Queue) Len() int { return len(q.heap) }

// Next is the time of the first one, None if there are none.
func (q *Queue) Next() mono.Time {
	switch {
	case len(q.heap) == 0:
		return mono.None
	case q.heap[0].at == mono.None:
		return 1 // at once
	}
	return q.heap[0].at
}

// First says whether it is the one that comes next.
func (q *Queue) First(it *Item) bool { return it.pos == 0 }

// Due takes out the first item if its time has come, else it returns nil. The item is the caller's until Recycle or Back.
func (q *Queue) Due(now mono.Time) *Item {
	if len(q.heap) == 0 || q.heap[0].at > now {
		return nil
	}
	it, last := q.heap[0], len(q.heap)-1
	q.swap(0, last)
	q.heap[last] = nil
	q.heap = q.heap[:last]
	if last > 0 {
		q.down(0)
	}
	it.pos = -1
	return it
}

// Back puts an item of Due back to where it was.
func (q *Queue) Back(it *Item) {
	it.pos = len(q.heap)
	q.heap = append(q.heap, it)
	q.up(it.pos)
}

// Recycle ends the use of an item of Due.
func (q *Queue) Recycle(it *Item) {
	q.bytes -= len(it.B) + itemOverhead
	it.gen++
	it.B = it.B[:0]
	if n := cap(it.B) + itemOverhead; q.spare+n <= freeMax {
		q.spare += n
		q.free = append(q.free, it)
	}
}

// Hurry has an item come at the given time, behind those of that time, if it would come later; gen tells it from later uses of its memory. It reports
// whether that changed anything.
func (q *Queue) Hurry(it *Item, gen uint32, at mono.Time) bool {
	if it.gen != gen || it.pos < 0 || it.at <= at {
		return false
	}
	q.orders++
	it.at, it.order = at, q.orders
	q.up(it.pos)
	return true
}

// Clear throws everything away.
func (q *Queue) Clear() {
	for _, it := range q.heap {
		it.gen++
		it.pos = -1
	}
	q.heap, q.free, q.bytes, q.spare = nil, nil, 0, 0
}

// The rest is a binary heap.

func (q *Queue) less(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (q *Queue) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].pos, q.heap[j].pos = i, j
}

func (q *Queue) up(i int) {
	for i > 0 && q.less(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (q *Queue) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(q.heap) {
			return
		}
		if c+1 < len(q.heap) && q.less(c+1, c) {
			c++
		}
		if !q.less(c, i) {
			return
		}
		q.swap(i, c)
		i = c
	}
}
