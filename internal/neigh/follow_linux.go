package neigh

import (
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink"

	"gofabric/internal/xdp/frame"
)

// Link is the state of an interface.
type Link struct {
	MTU  int       // bytes, as ip(8) shows it
	MAC  frame.MAC // zero if the interface is not Ethernet
	Gone bool      // it was removed, or moved to another namespace
}

// follower is called after changes of an interface.
type follower struct {
	index int
	last  Link
	f     func(Link)
}

// Follow makes the table call f with the state of the interface with an index, whenever it has changed. The first
// call may be for the present state. The table's goroutine calls f, which must not wait. stop ends the calls; one may
// be in progress then.
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

// watcher is called with the host's addresses.
type watcher struct {
	seen uint64 // number of its last set
	f    func(own map[netip.Addr]struct{})
}

// FollowAddresses makes the table call f with the host's addresses, of all interfaces and both families, without
// zones. It calls f soon, or with the next sweep, and whenever they may have changed. f must not change own, which
// remains valid and unchanged. f and stop are as in Follow.
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

// FollowPaths makes the table call f when destinations have got a path, or another one. f and stop are as in Follow.
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

// reportPaths calls the followers of paths if paths were found since the last time.
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

// reportAddresses calls the followers of addresses. If the kernel cannot be asked, the next sweep does that.
func (t *Table) reportAddresses() {
	t.mu.Lock()
	anybody := len(t.watches) > 0
	t.mu.Unlock()
	if !anybody || t.lost {
		return
	}
	if t.findLocals() != nil { // while no caller waits for the lock
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

// report calls the followers of an interface.
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

// reportAll asks for all interfaces with followers, because messages were lost.
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
