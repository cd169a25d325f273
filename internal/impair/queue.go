package impair

import (
	"net/netip"

	"gofabric/internal/mono"
	"gofabric/internal/queue"
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

	place queue.Place // in Queue.heap
	gen   uint32      // of the item's use
}

// Queue holds datagrams until their time comes. Its memory is bounded by Max and used again. The zero Queue, with Max set, is ready to use.
type Queue struct {
	Max int // bytes, with some overhead for each datagram

	heap  queue.Heap[mono.Time, *Item]
	free  []*Item
	bytes int
	spare int // bytes of free
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
	it.Addr, it.Seg = addr, seg
	q.heap.Set(at, it, &it.place)
	return it, it.gen
}

func (q *Queue) take() *Item {
	last := len(q.free) - 1
	if last < 0 {
		return &Item{}
	}
	it := q.free[last]
	q.free[last] = nil
	q.free = q.free[:last]
	q.spare -= cap(it.B) + itemOverhead
	return it
}

// Len is the number of items.
func (q *Queue) Len() int { return q.heap.Len() }

// Next is the time of the first one, None if there are none.
func (q *Queue) Next() mono.Time {
	switch {
	case q.heap.Len() == 0:
		return mono.None
	case q.heap.MinKey() == mono.None:
		return 1 // at once
	}
	return q.heap.MinKey()
}

// First says whether it is the one that comes next.
func (q *Queue) First(it *Item) bool { return q.heap.Len() > 0 && q.heap.Min() == it }

// Ready is the first item if its time has come, else nil. It stays in the queue until Recycle.
func (q *Queue) Ready(now mono.Time) *Item {
	if q.heap.Len() == 0 || q.heap.MinKey() > now {
		return nil
	}
	return q.heap.Min()
}

// Due is Ready, and takes the item out. It is the caller's until Recycle.
func (q *Queue) Due(now mono.Time) *Item {
	it := q.Ready(now)
	if it != nil {
		q.heap.Pop()
	}
	return it
}

// Recycle ends the use of an item of Ready or Due.
func (q *Queue) Recycle(it *Item) {
	q.heap.Remove(it.place)
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
	if it.gen != gen || !it.place.In() || q.heap.Key(it.place) <= at {
		return false
	}
	q.heap.Set(at, it, &it.place)
	return true
}

// Clear throws everything away.
func (q *Queue) Clear() {
	for it := range q.heap.All() {
		it.gen++
	}
	q.heap.Clear()
	q.free, q.bytes, q.spare = nil, 0, 0
}
