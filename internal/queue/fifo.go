package queue

// FIFO is a first-in, first-out queue: a ring that grows as needed and keeps its memory. The zero value is empty.
// It has four words, because a peer may have several.
type FIFO[T any] struct {
	ring    []T    // its length is a power of two
	head, n uint32 // index of the oldest value; number of values
}

// initialCap is the capacity after the first Add.
const initialCap = 4

// Len returns the number of values.
func (q *FIFO[T]) Len() int { return int(q.n) }

// Cap returns how many values fit before the ring grows.
func (q *FIFO[T]) Cap() int { return len(q.ring) }

// At returns the i-th oldest value, from 0. There must be more than i values. The pointer is valid until the next
// change.
func (q *FIFO[T]) At(i int) *T { return &q.ring[(int(q.head)+i)&(len(q.ring)-1)] }

// Push appends v.
func (q *FIFO[T]) Push(v T) { *q.Add() = v }

// Add appends a zero value and returns it, for the caller to fill in. The pointer is valid until the next change.
func (q *FIFO[T]) Add() *T {
	if int(q.n) == len(q.ring) {
		q.grow()
	}
	q.n++
	return q.At(int(q.n) - 1)
}

// grow doubles the ring and puts the oldest value first.
func (q *FIFO[T]) grow() {
	more := make([]T, max(initialCap, 2*len(q.ring)))
	k := copy(more, q.ring[q.head:])
	copy(more[k:], q.ring[:q.head])
	q.ring, q.head = more, 0
}

// Pop removes the oldest value and returns it. There must be one.
func (q *FIFO[T]) Pop() T {
	v := *q.At(0)
	q.Drop()
	return v
}

// Drop removes the oldest value. There must be one. It saves the copy that Pop returns. The slot is cleared, so
// that the garbage collector gets what the value refers to.
func (q *FIFO[T]) Drop() {
	var none T
	*q.At(0) = none
	q.head = (q.head + 1) & uint32(len(q.ring)-1)
	q.n--
}

// Remove removes the i-th oldest value and returns it. The others stay in order.
func (q *FIFO[T]) Remove(i int) T {
	v := *q.At(i)
	for ; i > 0; i-- {
		*q.At(i) = *q.At(i - 1)
	}
	q.Drop()
	return v
}
