package udp

import (
	"net"
	"sync/atomic"

	"gofabric/internal/neigh"
)

// followed is an interface whose changes matter.
type followed struct {
	stop func()                     // ends what Follow of the table began
	news atomic.Pointer[neigh.Link] // not looked at yet
}

// follow begins to hear of changes, and catches up with those that there were before.
func (l *xdpLink) follow() error {
	l.below.stop = l.table.Follow(l.iface.Index(), func(to neigh.Link) { l.changed(&l.below, to) })
	l.above.stop = l.table.Follow(l.index, func(to neigh.Link) { l.changed(&l.above, to) })
	at, err := net.InterfaceByIndex(l.index)
	if err != nil {
		return err
	}
	copy(l.rules.MAC[:], at.HardwareAddr)
	below, err := net.InterfaceByIndex(l.iface.Index())
	if err != nil {
		return err
	}
	return l.iface.SetMTU(below.MTU)
}

func (l *xdpLink) unfollow() {
	for _, f := range []*followed{&l.below, &l.above} {
		if f.stop != nil {
			f.stop()
			f.stop = nil
		}
	}
}

// changed is told, by the table's goroutine, of a change of an interface. The lock may be held by somebody who waits for that goroutine.
func (l *xdpLink) changed(f *followed, to neigh.Link) {
	if f.news.Swap(&to) == nil {
		go l.heed()
	}
}

// heed does what changes of the interfaces ask for.
func (l *xdpLink) heed() {
	l.d.prog.Lock()
	defer l.d.prog.Unlock()
	below, above := l.below.news.Swap(nil), l.above.news.Swap(nil)
	switch {
	case l.port == nil:
		return
	case below != nil && below.Gone, above != nil && above.Gone:
		l.becomeGone(errXDPRemoved)
		return
	}
	if above != nil {
		l.rules.MAC = above.MAC
	}
	if below != nil {
		l.iface.SetMTU(below.MTU) // if it cannot be set, longer packets go through the kernel's stack
	}
}
