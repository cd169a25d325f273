package neigh

import (
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink"

	"gofabric/internal/xdp/frame"
)

// Link is the state of an interface.
type Link struct {
	MTU  int       // bytes, as ip(8) has it
	MAC  frame.MAC // zero if it is none of Ethernet
	Gone bool      // it was removed, or moved to another namespace
}

// follower wants to know of the changes of an interface.
type follower struct {
	index int
	last  Link
	f     func(Link)
}

// Follow has f called with each state of the interface with an index, when that is another one than before; the first may be that of now. f is called by the
// table's goroutine and must not wait. stop ends it; a call may be under way then.
func (t *Table) Follow(index int, f func(Link)) (stop func()) {
	x := &follower{index: index, f: f}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.follows == nil {
		t.follows = map[*follower]struct{}{}
	}
	t.follows[x] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.follows, x)
	}
}

// watcher wants to know whether the host has an address.
type watcher struct {
	addr netip.Addr
	has  bool
	f    func(has bool)
}

// FollowAddress has f called when the host, on whichever interface, no longer has an address that it had, and when it has it again; with the next sweep if it went before the call. f and stop are as in Follow.
func (t *Table) FollowAddress(a netip.Addr, f func(has bool)) (stop func()) {
	x := &watcher{addr: a.Unmap().WithZone(""), has: true, f: f}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watches == nil {
		t.watches = map[*watcher]struct{}{}
	}
	t.watches[x] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watches, x)
	}
}

// reportAddresses tells those who follow an address. If the kernel cannot be asked, that is done with the next sweep.
func (t *Table) reportAddresses() {
	t.mu.Lock()
	anybody := len(t.watches) > 0
	t.mu.Unlock()
	if !anybody {
		return
	}
	if t.findLocals() != nil { // while nobody waits for the lock
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := range t.watches {
		if has, err := t.hasAddress(x.addr); err == nil && has != x.has {
			x.has = has
			x.f(has)
		}
	}
}

// report tells the followers of an interface.
func (t *Table) report(index int, l Link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := range t.follows {
		if x.index == index && x.last != l {
			x.last = l
			x.f(l)
		}
	}
}

// reportAll asks for all interfaces that are followed: reports of the kernel were lost.
func (t *Table) reportAll() {
	t.mu.Lock()
	asked := map[int]struct{}{}
	for x := range t.follows {
		asked[x.index] = struct{}{}
	}
	t.mu.Unlock()
	for index := range asked {
		l, err := t.h.LinkByIndex(index)
		var none netlink.LinkNotFoundError
		switch {
		case err == nil:
			d := deviceOf(l)
			t.report(index, Link{MTU: d.mtu, MAC: d.mac})
		case errors.As(err, &none):
			t.report(index, Link{Gone: true})
		}
	}
}
