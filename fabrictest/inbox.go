package fabrictest

import (
	"net/netip"
	"sync"

	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/progress"
)

// inbox is what is on its way to a port. Senders put it there, under the locks of their domains and of a link.
type inbox struct {
	h *progress.Handle

	mu        sync.Mutex // below a link's
	q         impair.Queue
	overflows uint64
	closed    bool
}

// add puts a datagram or run into the inbox, and tells the port if it is the next to come.
func (in *inbox) add(at mono.Time, from netip.AddrPort, parts [][]byte, seg, flip int) (*impair.Item, uint32) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return nil, 0
	}
	it, gen := in.q.Add(at, from, parts, seg, flip)
	if it == nil {
		in.overflows++
		return nil, 0
	}
	if it.Owner == nil {
		it.Owner = in
	}
	if in.q.First(it) {
		in.h.Notify()
	}
	return it, gen
}

func (in *inbox) hurry(it *impair.Item, gen uint32, at mono.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.q.Hurry(it, gen, at) && in.q.First(it) {
		in.h.Notify()
	}
}

func (in *inbox) take(now mono.Time) *impair.Item {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.q.Due(now)
}

// recycle ends the use of an item of take. One that outlived the inbox is forgotten.
func (in *inbox) recycle(it *impair.Item) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.q.Recycle(it)
	}
}

func (in *inbox) next() mono.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.q.Next()
}

func (in *inbox) overflowed() uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.overflows
}

func (in *inbox) gone() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.closed
}

func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.q.Clear()
}

// delivery is a port as the sender that a link transmits through: what it passes or keeps goes into the inbox at the other end.
type delivery struct {
	from, to *port
	now      mono.Time
}

// Pass has a datagram or run come now.
func (d *delivery) Pass(_ netip.AddrPort, parts [][]byte, seg int) error {
	d.to.in.add(d.now, d.from.local, parts, seg, -1) // if there is no room the inbox counts it; a sender does not learn of it
	return nil
}

// Keep has one come later.
func (d *delivery) Keep(at mono.Time, _ netip.AddrPort, parts [][]byte, flip int) (*impair.Item, uint32) {
	return d.to.in.add(at, d.from.local, parts, 0, flip)
}

// Hurry has one come earlier; it may be for another port of the node.
func (d *delivery) Hurry(it *impair.Item, gen uint32, at mono.Time) {
	it.Owner.(*inbox).hurry(it, gen, at)
}
