package fabrictest

import (
	"net/netip"
	"sync"

	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/progress"
)

// inbox has the datagrams on their way to a port. Senders add them with the locks of their domains and of a link
// held.
type inbox struct {
	h *progress.Handle

	mu        sync.Mutex // locked after a link's
	q         impair.Queue
	overflows uint64
	closed    bool
}

// add adds a datagram or GSO batch to the inbox, and notifies the port if it is the next one to arrive.
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

func (in *inbox) reschedule(it *impair.Item, gen uint32, at mono.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.q.Reschedule(it, gen, at) && in.q.First(it) {
		in.h.Notify()
	}
}

func (in *inbox) take(now mono.Time) *impair.Item {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.q.Due(now)
}

// recycle ends the use of an item of take. It drops an item whose inbox is closed.
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

// delivery is a port as a link's sender: datagrams that the link passes or delays go to the inbox at the other end.
type delivery struct {
	from, to *port
	now      mono.Time
}

// Send makes a datagram or GSO batch arrive now.
func (d *delivery) Send(_ netip.AddrPort, parts [][]byte, seg int) error {
	d.to.in.add(d.now, d.from.local, parts, seg, -1) // the inbox counts datagrams without room; a sender does not learn of them
	return nil
}

// Delay makes one arrive later.
func (d *delivery) Delay(at mono.Time, _ netip.AddrPort, parts [][]byte, flip int) (*impair.Item, uint32) {
	return d.to.in.add(at, d.from.local, parts, 0, flip)
}

// Reschedule makes one arrive earlier. It may be for another port of the node.
func (d *delivery) Reschedule(it *impair.Item, gen uint32, at mono.Time) {
	it.Owner.(*inbox).reschedule(it, gen, at)
}
