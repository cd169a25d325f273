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

// watcher wants to know the host's addresses.
type watcher struct {
	seen uint64 // the set that it was told last
	f    func(own map[netip.Addr]struct{})
}

// FollowAddresses has f called with the host's addresses, of all interfaces and both families, without zones, and whenever they may have changed: the first time soon, or with the next sweep. own is to
// be read only; it does not change. f and stop are as in Follow.
func (t *Table) FollowAddresses(f func(own map[netip.Addr]struct{})) (stop func()) {
	x := &watcher{f: f}
	t.mu.Lock()
	if t.watches == nil {
		t.watches = map[*watcher]struct{}{}
	}
	t.watches[x] = struct{}{}
	t.mu.Unlock()
	select {
	case t.questions <- question{}:
	default:
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watches, x)
	}
}

// FollowPaths has f called when destinations that were asked about have got a way, or another one. f and stop are as in Follow.
func (t *Table) FollowPaths(f func()) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finders == nil {
		t.finders = map[*func()]struct{}{}
	}
	t.finders[&f] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.finders, &f)
	}
}

// reportPaths tells those who follow paths of what was found since the last time.
func (t *Table) reportPaths() {
	if !t.found {
		return
	}
	t.found = false
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := range t.finders {
		(*f)()
	}
}

// reportAddresses tells those who follow the addresses. If the kernel cannot be asked, that is done with the next sweep.
func (t *Table) reportAddresses() {
	t.mu.Lock()
	anybody := len(t.watches) > 0
	t.mu.Unlock()
	if !anybody || t.lost {
		return
	}
	if t.findLocals() != nil { // while nobody waits for the lock
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := range t.watches {
		if x.seen != t.localsNo {
			x.seen = t.localsNo
			x.f(t.locals)
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
