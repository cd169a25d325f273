package dgep

// ring is a queue that grows as needed and keeps its room.
type ring[T any] struct {
	slots []T // a power of two of them
	head  int
	n     int
}

const firstSlots = 16

// at is the i-th from the head.
func (r *ring[T]) at(i int) *T { return &r.slots[(r.head+i)&(len(r.slots)-1)] }

// push appends a zero T for the caller to fill in; it is valid until the next call.
func (r *ring[T]) push() *T {
	if r.n == len(r.slots) {
		more := make([]T, max(firstSlots, 2*r.n))
		for i := range r.n {
			more[i] = *r.at(i)
		}
		r.slots, r.head = more, 0
	}
	r.n++
	return r.at(r.n - 1)
}

// pop removes the head.
func (r *ring[T]) pop() {
	var zero T
	*r.at(0) = zero
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.n--
}

// remove takes out the i-th and returns it; the others stay in order.
func (r *ring[T]) remove(i int) T {
	v := *r.at(i)
	for ; i > 0; i-- {
		*r.at(i) = *r.at(i - 1)
	}
	r.pop()
	return v
}
