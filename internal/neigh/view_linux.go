package neigh

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"
)

// resolveMax is the longest time that Resolve waits. It is longer than the time after which the kernel gives up a
// neighbour (three times a second, neigh/*/mcast_solicit and retrans_time_ms).
const resolveMax = 5 * time.Second

// View is an endpoint's view of a Table. It may be used by several goroutines.
type View struct {
	t     *Table
	src   netip.Addr // invalid: the kernel chooses
	iface int        // for groups and link-local destinations; 0: the kernel chooses
}

// Dest is the state of a peer: its destination. The zero value is ready for use. It belongs to one destination and
// one View, and must not be copied after its first use.
type Dest struct {
	entry atomic.Pointer[entry]
	gen   atomic.Uint64 // the table's generation at the time of the question; 0: ask again
	asked atomic.Bool   // a question is in progress
}

// question is a question about a destination. Without a destination it is about what the first questions of a view
// need.
type question struct {
	v  *View
	d  *Dest
	to netip.Addr
}

// View returns the view of an endpoint with the address src. If src is not set, or is the unspecified address, the
// kernel chooses the address. Groups and link-local destinations without a zone are reached through the interface
// with index iface, if that is not 0.
func (t *Table) View(src netip.Addr, iface int) *View {
	src = src.Unmap().WithZone("")
	if src.IsUnspecified() {
		src = netip.Addr{}
	}
	return &View{t: t, src: src, iface: iface}
}

// Prepare makes the table ask for everything that does not depend on the destination, so that the first Path need not
// wait for it. The kernel lists interfaces with the lock of all of them held. Other processes may hold that lock for
// tens of milliseconds, for example to attach a program.
func (v *View) Prepare() {
	select {
	case v.t.questions <- question{v: v}:
	default: // the first destination asks
	}
}

// Path returns the path to a destination, or nil if there is none now; Why returns the reason. It never waits, and
// allocates nothing. d belongs to the destination. A new d has a path at once if another Dest with the same source
// has asked about the destination before, and nothing has changed since.
func (v *View) Path(d *Dest, to netip.Addr) *Path {
	e := d.entry.Load()
	if e == nil {
		e = v.recall(d, to)
	}
	if e == nil || d.gen.Load() != v.t.gen.Load() {
		v.ask(d, to)
		if e == nil {
			return nil
		}
	}
	if e.idle.Load() {
		v.t.wake(e)
	}
	p := e.path.Load()
	if p == nil && e.dead.Load() {
		v.ask(d, to)
	}
	return p
}

// ask queues a question for the table's goroutine, if there is room.
func (v *View) ask(d *Dest, to netip.Addr) {
	if d.asked.Load() || !d.asked.CompareAndSwap(false, true) {
		return
	}
	select {
	case v.t.questions <- question{v, d, to}:
	default:
		d.asked.Store(false) // ask again with the next datagram
	}
}

// Why returns the reason why the last Path was nil.
func (v *View) Why(d *Dest) error {
	e := d.entry.Load()
	switch {
	case v.t.closed():
		return ErrClosed
	case e == nil:
		return ErrResolving
	}
	return e.reason()
}

// Resolve waits for a Path, or until it is certain that there is none, or for ctx, and at most a few seconds.
func (v *View) Resolve(ctx context.Context, d *Dest, to netip.Addr) (*Path, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, resolveMax, ErrUnreachable)
	defer cancel()
	for {
		changed := v.t.changed()
		p := v.Path(d, to)
		if current := d.gen.Load() == v.t.gen.Load(); current && p != nil {
			return p, nil
		} else if err := v.Why(d); current && err != ErrResolving || err == ErrClosed {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
