package neigh

import (
	"errors"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/xdp/frame"
)

// event is a message of the kernel, or a change of the subscription.
type event struct {
	kind uint16 // RTM_*, or lost or overrun
	data []byte
}

const (
	overrun = 0      // messages were lost
	lost    = 0xffff // there are no further messages
)

// listen receives the kernel's messages.
func (t *Table) listen() {
	defer t.idle.Done()
	for {
		msgs, from, err := t.sub.Receive()
		var batch []event
		switch {
		case errors.Is(err, unix.ENOBUFS):
			batch = []event{{kind: overrun}} // netlink(7)
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			batch = []event{{kind: lost}}
		case from.Pid != 0:
			continue // not from the kernel
		}
		for _, m := range msgs {
			batch = append(batch, event{m.Header.Type, m.Data})
		}
		select {
		case t.events <- batch:
		case <-t.done:
			return
		}
		if err != nil && !errors.Is(err, unix.ENOBUFS) {
			return
		}
	}
}

// follow processes events.
func (t *Table) follow(batch []event) {
	routes, addresses := false, false
	for _, ev := range batch {
		switch ev.kind {
		case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
			t.neighbourChanged(ev)
		case unix.RTM_NEWLINK, unix.RTM_DELLINK:
			routes = t.linkChanged(ev) || routes
		case unix.RTM_NEWADDR, unix.RTM_DELADDR:
			t.locals = nil
			routes, addresses = true, true
		case unix.RTM_NEWROUTE, unix.RTM_DELROUTE, unix.RTM_NEWRULE, unix.RTM_DELRULE, unix.RTM_NEWNEXTHOP, unix.RTM_DELNEXTHOP:
			routes = true
		case overrun:
			t.resync()
			routes, addresses = true, true
		case lost:
			t.blind()
		}
	}
	if addresses {
		t.reportAddresses()
	}
	if routes {
		t.routesChanged(mono.Now())
	}
}

// neighbourChanged processes a change of a neighbour.
func (t *Table) neighbourChanged(ev event) {
	k, nud, mac, ok := neighbour(ev.data)
	h := t.hops[k]
	if !ok || h == nil {
		return
	}
	if ev.kind == unix.RTM_DELNEIGH {
		nud = 0
	}
	t.setNeighbour(h, nud, mac)
}

// setNeighbour records the kernel's state of a neighbour.
func (t *Table) setNeighbour(h *hop, nud int, mac frame.MAC) {
	h.nud, h.mac = nud, mac
	if h.err == ErrResolving && nud&netlink.NUD_FAILED != 0 && h.due != mono.None {
		t.unanswered(h, ErrUnreachable)
	}
	t.attend(h, h.used())
}

// linkChanged processes a change of an interface, and reports whether routes may have changed. The kernel does not
// report all routes that disappear with an interface (fib_sync_down_dev).
func (t *Table) linkChanged(ev event) bool {
	if len(ev.data) < unix.SizeofIfInfomsg || ev.data[0] == unix.AF_BRIDGE {
		return false // a port of a bridge
	}
	l, err := netlink.LinkDeserialize(nil, ev.data)
	if err != nil {
		return false
	}
	d := deviceOf(l)
	t.report(d.index, Link{MTU: d.mtu, MAC: d.mac, Gone: ev.kind == unix.RTM_DELLINK})
	old := t.links[d.index]
	switch {
	case old == nil:
		return false
	case ev.kind == unix.RTM_DELLINK:
		delete(t.links, d.index)
	case *old == d:
		return false
	default:
		t.links[d.index] = &d
	}
	t.renewAbove(d.index)
	return true
}

// renewAbove renews the paths through an interface and through the VLAN devices above it. The kernel may have dropped
// neighbours with the interface.
func (t *Table) renewAbove(index int) {
	for _, h := range t.hops {
		if t.stands(h.key.link, index) {
			nud, mac := t.askNeighbour(h.key)
			h.due, h.again = mono.None, againMin
			t.setNeighbour(h, nud, mac)
		}
	}
	for _, e := range t.entries {
		if e.hop == nil && t.stands(e.key.hop.link, index) {
			t.renew(e)
		}
	}
}

// stands reports whether a device is the device on, or a VLAN device above it.
func (t *Table) stands(index, on int) bool {
	for range frame.TagsMax + 1 {
		if index == on {
			return true
		}
		d := t.links[index]
		if d == nil || d.tag.Proto == 0 {
			return false
		}
		index = d.parent
	}
	return false
}

// resync asks for everything again, because messages were lost.
func (t *Table) resync() {
	t.reportAll()
	clear(t.links)
	t.locals = nil
	for _, h := range t.hops {
		nud, mac := t.askNeighbour(h.key)
		t.setNeighbour(h, nud, mac)
	}
	for _, e := range t.entries {
		if e.hop == nil {
			t.renew(e)
		}
	}
}

// blind forgets everything, because no message would report that it has become wrong.
func (t *Table) blind() {
	if t.closed() {
		return
	}
	t.lost = true
	for _, e := range t.entries {
		t.forget(e)
	}
	t.gen.Add(1)
}

// used handles an entry that is used again after a pause.
func (t *Table) used(e *entry) {
	e.sweeps = 0
	if e.hop != nil && !e.dead.Load() {
		t.attend(e.hop, true)
	}
}

// pass handles everything that is due.
func (t *Table) pass(now mono.Time) {
	if !now.Before(t.next) {
		t.next = mono.Never
		for _, h := range t.hops {
			if h.due != mono.None && !now.Before(h.due) {
				t.expired(h)
			}
			if h.due != mono.None {
				t.next = min(t.next, h.due)
			}
		}
	}
	if t.bump != mono.None && !now.Before(t.bump) {
		t.routesChanged(now)
	}
	if !now.Before(t.sweep) {
		t.sweep = now.Add(sweepEvery)
		t.reportAddresses()
		for _, e := range t.entries {
			t.review(e)
		}
	}
}

// expired handles a neighbour whose deadline has passed: it has not answered, or the table must ask again.
func (t *Table) expired(h *hop) {
	if h.err == ErrResolving {
		t.unanswered(h, ErrUnreachable)
	} else {
		h.due = mono.None
	}
	t.attend(h, h.used())
}

// review checks whether an entry was used since the last review. If so, it keeps the neighbour valid. If the entry
// was not used for long, it is forgotten.
func (t *Table) review(e *entry) {
	if !e.idle.Swap(true) {
		e.sweeps = 0
		if e.hop != nil {
			t.attend(e.hop, true)
		}
		return
	}
	if e.sweeps++; e.sweeps >= sweepsMax {
		t.forget(e)
	}
}
