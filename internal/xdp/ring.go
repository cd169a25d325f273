//go:build linux

package xdp

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// entry is the type of a ring's entries. The fill and completion rings have chunk addresses, the receive and transmit
// rings descriptors.
type entry interface{ uint64 | unix.XDPDesc }

// ring is what both sides of a ring share. Producer and consumer count entries, and the counts wrap around at 2^32.
// The place of an entry is its count modulo the size, a power of two. Each side writes only its own count, after it
// has written or read the entries. The atomic store and load keep this order (the kernel's side is
// net/xdp/xsk_queue.h). One thread at a time works on our side.
type ring[T entry] struct {
	producer, consumer, flags *uint32 // in memory shared with the kernel
	entries                   []T
	mask                      uint32
	next                      uint32 // our side's count, ahead of the shared one until it is published
	seen                      uint32 // of a consumer: the last count of the producer that we read
}

// newRing makes a ring over memory from mmap. at has the offsets of its parts (struct xdp_ring_offset), and size is
// its number of entries.
func newRing[T entry](mem []byte, at unix.XDPRingOffset, size uint32) (ring[T], error) {
	var r ring[T]
	if size == 0 || size&(size-1) != 0 {
		return r, fmt.Errorf("%d entries are not a power of two", size)
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

// needsWakeup reports whether the kernel sleeps until it is called (XDP_RING_NEED_WAKEUP). Without
// XDP_USE_NEED_WAKEUP it never does.
func (r *ring[T]) needsWakeup() bool {
	return atomic.LoadUint32(r.flags)&unix.XDP_RING_NEED_WAKEUP != 0
}

// We are the producer of the fill and transmit rings, and the consumer of the receive and completion rings.
type (
	producerRing[T entry] struct{ ring[T] }
	consumerRing[T entry] struct{ ring[T] }
)

// put adds an entry, which the kernel sees after publish. There is always room, because these rings have a place for
// every chunk that goes through them.
func (r *producerRing[T]) put(v T) {
	r.entries[r.next&r.mask] = v
	r.next++
}

// publish shows the entries of put to the kernel.
func (r *producerRing[T]) publish() { atomic.StoreUint32(r.producer, r.next) }

// unconsumed returns the number of published entries that the kernel has not consumed. It may be called while another
// thread produces.
func (r *producerRing[T]) unconsumed() uint32 {
	consumed := atomic.LoadUint32(r.consumer)
	return atomic.LoadUint32(r.producer) - consumed
}

// available returns the number of waiting entries. If there are as many as want, it need not be exact, but is at
// least want.
func (r *consumerRing[T]) available(want uint32) uint32 {
	n := r.seen - r.next
	if n < want {
		r.seen = atomic.LoadUint32(r.producer)
		n = r.seen - r.next
	}
	return n
}

// peek returns the n-th waiting entry. n must be less than available.
func (r *consumerRing[T]) peek(n uint32) T { return r.entries[(r.next+n)&r.mask] }

// take moves past the first n entries.
func (r *consumerRing[T]) take(n uint32) { r.next += n }

// release gives the places of consumed entries to the kernel.
func (r *consumerRing[T]) release() { atomic.StoreUint32(r.consumer, r.next) }

// empty reports whether there are no waiting entries. It may be called while another thread consumes. Its result is
// then correct, or was so a moment ago.
func (r *consumerRing[T]) empty() bool {
	return atomic.LoadUint32(r.producer) == atomic.LoadUint32(r.consumer)
}
