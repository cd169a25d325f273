// The list of unexpected messages in order of age: intrusive, doubly linked, with sequence numbers.

package match

// A node is an object's place in a list. T is the object that contains the node.
type node[T any] struct {
	self       *T
	in         *list[T] // nil: not queued
	next, prev *node[T]
	seq        int64 // grows from head to tail
}

// A list is in order of age. The zero value is empty. It must not be copied after use.
type list[T any] struct {
	head, tail *node[T]
	n          int
	last       int64 // sequence number that pushBack assigns next
}

// pushBack appends self, whose node is n.
func (l *list[T]) pushBack(n *node[T], self *T) {
	if n.in != nil {
		panic("match: queued twice")
	}
	n.self, n.in, n.seq, n.prev = self, l, l.last, l.tail
	l.last++
	if l.tail == nil {
		l.head = n
	} else {
		l.tail.next = n
	}
	l.tail = n
	l.n++
}

// remove unlinks n, which must be in l. It leaves n.seq, because the views remove their entries after it.
func (l *list[T]) remove(n *node[T]) {
	if n.prev == nil {
		l.head = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		l.tail = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.self, n.in, n.next, n.prev = nil, nil, nil, nil
	l.n--
}

// each yields the objects, oldest first. The body may remove the current one and add others, but must not remove
// others.
func (l *list[T]) each(yield func(*T) bool) {
	for n := l.head; n != nil; {
		next := n.next
		if !yield(n.self) {
			return
		}
		n = next
	}
}
