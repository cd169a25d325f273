package udp

import (
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"gofabric/internal/neigh"
)

// followed is an interface whose changes matter.
type followed struct {
	stop func()                     // ends what Follow of the table began
	news atomic.Pointer[neigh.Link] // not looked at yet
}

// followedAddresses are the host's.
type followedAddresses struct {
	stop func()
	news atomic.Pointer[map[netip.Addr]struct{}] // not looked at yet
	any  bool                                    // packets may come from the host's own addresses
}

// follow begins to hear of changes, and catches up with those that there were before.
func (l *xdpLink) follow() error {
	l.below.stop = l.table.Follow(l.iface.Index(), func(to neigh.Link) { l.changed(&l.below, to) })
	l.above.stop = l.table.Follow(l.index, func(to neigh.Link) { l.changed(&l.above, to) })
	at, err := net.InterfaceByIndex(l.index)
	if err != nil {
		return err
	}
	l.here.any = acceptsLocal("all") || acceptsLocal(at.Name)
	l.here.stop = l.table.FollowAddresses(l.arrived)
	l.ahead.stop = l.table.FollowPaths(l.found)
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
	if l.here.stop != nil {
		l.here.stop()
		l.here.stop = nil
	}
	if l.ahead.stop != nil {
		l.ahead.stop()
		l.ahead.stop = nil
	}
}

// acceptsLocal reports whether the kernel takes IPv4 packets from the host's own addresses, on an interface or on all. The thread is in the interface's network namespace.
func acceptsLocal(name string) bool {
	b, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + name + "/accept_local")
	return err == nil && len(b) > 0 && b[0] != '0'
}

// arrived is told as changed is, of the host's addresses.
func (l *xdpLink) arrived(own map[netip.Addr]struct{}) {
	if l.here.news.Swap(&own) == nil {
		go l.heed()
	}
}

// becomeAt follows the host's addresses: without the link's, nothing is taken; from its others, nothing comes.
func (l *xdpLink) becomeAt(own map[netip.Addr]struct{}) {
	if !l.here.any {
		l.rules.SetOwn(own)
	}
	if _, has := own[l.local.Addr().Unmap().WithZone("")]; has {
		l.becomePresent()
	} else {
		l.becomeAbsent()
	}
}

// becomeAbsent leaves what comes to the system: the address is not this host's, and may be that of another one to which this host passes packets on.
func (l *xdpLink) becomeAbsent() {
	if !l.absent && l.port.Stop() != nil {
		l.becomeGone(errXDPNowhere)
		return
	}
	l.absent = true
}

// becomePresent takes what comes again.
func (l *xdpLink) becomePresent() {
	if !l.absent {
		return
	}
	l.absent = false
	if err := l.port.Resume(); err != nil {
		l.becomeGone(err)
	}
}

// changed is told, by the table's goroutine, of a change of an interface. The lock may be held by somebody who waits for that goroutine.
func (l *xdpLink) changed(f *followed, to neigh.Link) {
	if f.news.Swap(&to) == nil {
		go l.heed()
	}
}

// heed does what changes of the interfaces, addresses and ways ask for.
func (l *xdpLink) heed() {
	l.d.prog.Lock()
	defer l.d.prog.Unlock()
	below, above, here, ways := l.below.news.Swap(nil), l.above.news.Swap(nil), l.here.news.Swap(nil), l.ahead.news.Swap(false)
	switch {
	case l.port == nil:
		return
	case below != nil && below.Gone, above != nil && above.Gone:
		l.becomeGone(errXDPRemoved)
		return
	}
	if here != nil {
		l.becomeAt(*here)
	}
	if ways {
		l.prebuild()
	}
	if above != nil {
		l.rules.MAC = above.MAC
	}
	if below != nil {
		l.iface.SetMTU(below.MTU) // if it cannot be set, longer packets go through the kernel's stack
	}
}
