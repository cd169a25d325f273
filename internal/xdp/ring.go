//go:build linux

package xdp

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// entry is what a ring carries: the fill and completion rings chunk addresses, the receive and transmit rings descriptors of data.
type entry interface{ uint64 | unix.XDPDesc }

// ring is what the two sides of a ring have in common. Producer and consumer count entries and wrap around at 2^32; an entry's place is its count modulo the
// size, a power of two. Each side writes its own count only, after it has written or read the entries: the atomic store and load carry the order (the kernel's
// side is net/xdp/xsk_queue.h). One thread at a time works on our side.
type ring[T entry] struct {
	producer, consumer, flags *uint32 // in memory shared with the kernel
	entries                   []T
	mask                      uint32
	next                      uint32 // our side's count, ahead of the shared one until it is published
	seen                      uint32 // the producer's count when we last looked, if we consume
}

// newRing lays a ring over the memory that mmap gave for it. at is where its parts lie (struct xdp_ring_offset), size the entries asked for.
func newRing[T entry](mem []byte, at unix.XDPRingOffset, size uint32) (ring[T], error) {
	var r ring[T]
	if size == 0 || size&(size-1) != 0 {
		return r, fmt.Errorf("%d entries are no power of two", size)
	}
	var err error
	if r.producer, err = wordAt(mem, at.Producer); err != nil {
		return r, err
	}
	if r.consumer, err = wordAt(mem, at.Consumer); err != nil {
		return r, err
	}
	if r.flags, err = wordAt(mem, at.Flags); err != nil {
		return r, err
	}
	if r.entries, err = entriesAt[T](mem, at.Desc, size); err != nil {
		return r, err
	}
	r.mask = size - 1
	return r, nil
}

// needsWakeup reports whether the kernel sleeps until it is called (XDP_RING_NEED_WAKEUP). Without XDP_USE_NEED_WAKEUP it never says so.
func (r *ring[T]) needsWakeup() bool {
	return atomic.LoadUint32(r.flags)&unix.XDP_RING_NEED_WAKEUP != 0
}

// The four rings as we see them: into the fill and transmit rings we produce, from the receive and completion rings we consume.
type (
	producerRing[T entry] struct{ ring[T] }
	consumerRing[T entry] struct{ ring[T] }
)

// put adds an entry, which the kernel sees after publish. There is always room: the rings into which we produce have a place for every chunk that goes
// through them.
func (r *producerRing[T]) put(v T) {
	r.entries[r.next&r.mask] = v
	r.next++
}

// publish shows the kernel what was put.
func (r *producerRing[T]) publish() { atomic.StoreUint32(r.producer, r.next) }

// unconsumed is how many published entries the kernel has not taken. It may be called while another thread produces.
func (r *producerRing[T]) unconsumed() uint32 {
	consumed := atomic.LoadUint32(r.consumer)
	return atomic.LoadUint32(r.producer) - consumed
}

// available is how many entries wait, at least want if there are so many.
func (r *consumerRing[T]) available(want uint32) uint32 {
	n := r.seen - r.next
	if n < want {
		r.seen = atomic.LoadUint32(r.producer)
		n = r.seen - r.next
	}
	return n
}

// peek is the n-th entry that waits; n is less than available.
func (r *consumerRing[T]) peek(n uint32) T { return r.entries[(r.next+n)&r.mask] }

// take moves past the first n entries.
func (r *consumerRing[T]) take(n uint32) { r.next += n }

// release gives the kernel the places of what was taken.
func (r *consumerRing[T]) release() { atomic.StoreUint32(r.consumer, r.next) }

// empty reports whether nothing waits. It may be called while another thread consumes, and is then true or was a moment ago.
func (r *consumerRing[T]) empty() bool {
	return atomic.LoadUint32(r.producer) == atomic.LoadUint32(r.consumer)
}
