package impair

import (
	"net/netip"

	"gofabric/internal/mono"
	"gofabric/internal/queue"
)

// Datagrams in flight.

// itemOverhead is added to the length of a kept datagram, so that empty ones are bounded as well.
const itemOverhead = 128

// freeMax bounds the memory of items that wait for reuse, in bytes.
const freeMax = 1 << 20

// Item is a datagram, or a run of datagrams, in a Queue.
type Item struct {
	Addr netip.AddrPort // destination or source
	B    []byte
	Seg  int // bytes per datagram of a run, 0 for one datagram

	Owner any // for the owner of the queue; an item never changes queues

	place queue.Place // in Queue.heap
	gen   uint32      // counts the uses of the item
}

// Queue holds datagrams until they are due. Its memory is bounded by Max and reused. The zero Queue is ready for
// use once Max is set.
type Queue struct {
	Max int // bytes, including an overhead for each datagram

	heap  queue.Heap[mono.Time, *Item]
	free  []*Item
	bytes int
	spare int // bytes of free
}

// Add copies the concatenation of parts into the queue. It flips the bit number flip, unless that is negative. It
// returns nil when there is no room. gen is an argument of Reschedule.
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

// Next returns the time of the first item, None if there are no items.
func (q *Queue) Next() mono.Time {
	switch {
	case q.heap.Len() == 0:
		return mono.None
	case q.heap.MinKey() == mono.None:
		return 1 // at once
	}
	return q.heap.MinKey()
}

// First reports whether it is the next item.
func (q *Queue) First(it *Item) bool { return q.heap.Len() > 0 && q.heap.Min() == it }

// Ready returns the first item if it is due, otherwise nil. The item stays in the queue until Recycle.
func (q *Queue) Ready(now mono.Time) *Item {
	if q.heap.Len() == 0 || q.heap.MinKey() > now {
		return nil
	}
	return q.heap.Min()
}

// Due returns the first item if it is due, and removes it. The caller owns it until Recycle.
func (q *Queue) Due(now mono.Time) *Item {
	it := q.Ready(now)
	if it != nil {
		q.heap.Pop()
	}
	return it
}

// Recycle ends the use of an item from Ready or Due.
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

// Reschedule moves an item to the given time, behind other items of that time, if it was due later. gen distinguishes
// this use of the item from later ones. Reschedule reports whether it moved the item.
func (q *Queue) Reschedule(it *Item, gen uint32, at mono.Time) bool {
	if it.gen != gen || !it.place.In() || q.heap.Key(it.place) <= at {
		return false
	}
	q.heap.Set(at, it, &it.place)
	return true
}

// Clear removes all items.
func (q *Queue) Clear() {
	for it := range q.heap.All() {
		it.gen++
	}
	q.heap.Clear()
	q.free, q.bytes, q.spare = nil, 0, 0
}
