package neigh

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"
)

// resolveMax is the most that Resolve waits: what the kernel takes to give up a neighbour (three times a second, neigh/*/mcast_solicit and retrans_time_ms),
// and more.
const resolveMax = 5 * time.Second

// View is a Table seen from an endpoint. It may be used by several goroutines.
type View struct {
	t     *Table
	src   netip.Addr // invalid: the kernel chooses
	iface int        // for groups and link-local destinations; 0: the kernel chooses
}

// Dest is what a peer keeps: whom its datagrams go to. The zero value is ready; it belongs to one destination and one View, and must not be copied once used.
type Dest struct {
	entry atomic.Pointer[entry]
	gen   atomic.Uint64 // of the table when it was asked about the destination; 0: ask again
	asked atomic.Bool   // a question is under way
}

// question is about a destination; without one it is about what questions of its view ask for first.
type question struct {
	v  *View
	d  *Dest
	to netip.Addr
}

// View returns the table as an endpoint with the address src sees it; without one, or with the unspecified one, the kernel chooses the address. Groups and
// link-local destinations without a zone are reached through the interface with index iface, if it is not 0.
func (t *Table) View(src netip.Addr, iface int) *View {
	src = src.Unmap().WithZone("")
	if src.IsUnspecified() {
		src = netip.Addr{}
	}
	return &View{t: t, src: src, iface: iface}
}

// Prepare has the table ask for what does not depend on the destination, so that the first Path need not wait for it: the kernel tells of interfaces with the lock of all
// of them held, which others may keep for tens of milliseconds, to attach a program for example.
func (v *View) Prepare() {
	select {
	case v.t.questions <- question{v: v}:
	default: // the first destination asks
	}
}

// Path returns the way to a destination, nil if there is none now: Why says why. It never waits, and allocates nothing. d is the destination's own. A new one has
// a way at once if one with the same source has asked about the destination before, and nothing has changed since.
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

// ask leaves a question for the table's goroutine, if it has room for one.
func (v *View) ask(d *Dest, to netip.Addr) {
	if d.asked.Load() || !d.asked.CompareAndSwap(false, true) {
		return
	}
	select {
	case v.t.questions <- question{v, d, to}:
	default:
		d.asked.Store(false) // at the next datagram
	}
}

// Why says why the last Path was nil.
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

// Resolve waits for a Path, or until it is clear that there is none, or for ctx; a few seconds at most.
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
