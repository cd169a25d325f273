package queue

// FIFO is a first-in, first-out queue: a ring that grows as needed and keeps its memory. The zero FIFO is empty. It has four words, because a peer may have
// several.
type FIFO[T any] struct {
	ring    []T // a power of two of them
	head, n uint32
}

// firstRoom is how many values fit after the first Add.
const firstRoom = 4

// Len is the number of values.
func (q *FIFO[T]) Len() int { return int(q.n) }

// Cap is how many values fit before it has to grow.
func (q *FIFO[T]) Cap() int { return len(q.ring) }

// At is the i-th oldest value, from 0; there must be so many. The pointer is valid until the next change.
func (q *FIFO[T]) At(i int) *T { return &q.ring[(int(q.head)+i)&(len(q.ring)-1)] }

// Push appends v.
func (q *FIFO[T]) Push(v T) { *q.Add() = v }

// Add appends a zero value for the caller to fill in. The pointer is valid until the next change.
func (q *FIFO[T]) Add() *T {
	if int(q.n) == len(q.ring) {
		q.grow()
	}
	q.n++
	return q.At(int(q.n) - 1)
}

func (q *FIFO[T]) grow() {
	more := make([]T, max(firstRoom, 2*len(q.ring)))
	k := copy(more, q.ring[q.head:])
	copy(more[k:], q.ring[:q.head])
	q.ring, q.head = more, 0
}

// Pop takes out the oldest value and returns it; there must be one.
func (q *FIFO[T]) Pop() T {
	v := *q.At(0)
	q.Drop()
	return v
}

// Drop takes out the oldest value; there must be one. It spares the copy that Pop returns.
func (q *FIFO[T]) Drop() {
	var none T
	*q.At(0) = none
	q.head = (q.head + 1) & uint32(len(q.ring)-1)
	q.n--
}

// Remove takes out the i-th oldest value; the others stay in order.
func (q *FIFO[T]) Remove(i int) T {
	v := *q.At(i)
	for ; i > 0; i-- {
		*q.At(i) = *q.At(i - 1)
	}
	q.Drop()
	return v
}
