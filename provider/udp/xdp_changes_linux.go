package udp

import (
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"gofabric/internal/neigh"
)

// followedLink is an interface whose changes the datapath follows.
type followedLink struct {
	stop    func()                     // ends Table.Follow
	pending atomic.Pointer[neigh.Link] // not applied yet
}

// followedAddrs are the host's addresses.
type followedAddrs struct {
	stop    func()
	pending atomic.Pointer[map[netip.Addr]struct{}] // not applied yet
	any     bool                                    // packets from the host's own addresses are accepted
}

// follow subscribes to changes, and applies those since the datapath was opened.
func (l *xdpDatapath) follow() error {
	l.lower.stop = l.table.Follow(l.iface.Index(), func(to neigh.Link) { l.linkChanged(&l.lower, to) })
	l.upper.stop = l.table.Follow(l.index, func(to neigh.Link) { l.linkChanged(&l.upper, to) })
	at, err := net.InterfaceByIndex(l.index)
	if err != nil {
		return err
	}
	l.addrs.any = acceptsLocal("all") || acceptsLocal(at.Name)
	l.addrs.stop = l.table.FollowAddresses(l.addrsChanged)
	l.expected.stop = l.table.FollowPaths(l.pathsFound)
	copy(l.rules.MAC[:], at.HardwareAddr)
	below, err := net.InterfaceByIndex(l.iface.Index())
	if err != nil {
		return err
	}
	return l.iface.SetMTU(below.MTU)
}

func (l *xdpDatapath) unfollow() {
	for _, f := range []*followedLink{&l.lower, &l.upper} {
		if f.stop != nil {
			f.stop()
			f.stop = nil
		}
	}
	if l.addrs.stop != nil {
		l.addrs.stop()
		l.addrs.stop = nil
	}
	if l.expected.stop != nil {
		l.expected.stop()
		l.expected.stop = nil
	}
}

// acceptsLocal reports whether the kernel accepts IPv4 packets from the host's own addresses (accept_local in
// ip-sysctl.rst), on this or on all interfaces. The calling thread must be in the interface's network namespace.
func acceptsLocal(name string) bool {
	b, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + name + "/accept_local")
	return err == nil && len(b) > 0 && b[0] != '0'
}

// addrsChanged stores the host's new addresses. It is called as linkChanged is.
func (l *xdpDatapath) addrsChanged(own map[netip.Addr]struct{}) {
	if l.addrs.pending.Swap(&own) == nil {
		go l.applyChanges()
	}
}

// setAddrs takes over the host's addresses. If the datapath's own address is not among them, nothing is received. No
// packet is accepted from the others (rules.SetOwn).
func (l *xdpDatapath) setAddrs(own map[netip.Addr]struct{}) {
	if !l.addrs.any {
		l.rules.SetOwn(own)
	}
	if _, has := own[l.local.Addr().Unmap().WithZone("")]; has {
		l.resume()
	} else {
		l.stop()
	}
}

// stop leaves packets to the kernel's stack: the host does not have the address now, and may have to forward them.
func (l *xdpDatapath) stop() {
	if !l.stopped && l.port.Stop() != nil {
		l.giveUp(errXDPNowhere)
		return
	}
	l.stopped = true
}

// resume ends stop.
func (l *xdpDatapath) resume() {
	if !l.stopped {
		return
	}
	l.stopped = false
	if err := l.port.Resume(); err != nil {
		l.giveUp(err)
	}
}

// linkChanged is called by the table's goroutine. It takes no lock, because a holder of the lock may wait for that
// goroutine.
func (l *xdpDatapath) linkChanged(f *followedLink, to neigh.Link) {
	if f.pending.Swap(&to) == nil {
		go l.applyChanges()
	}
}

// applyChanges applies pending changes of interfaces, addresses and paths.
func (l *xdpDatapath) applyChanges() {
	l.d.prog.Lock()
	defer l.d.prog.Unlock()
	lower, upper, addrs, paths := l.lower.pending.Swap(nil), l.upper.pending.Swap(nil), l.addrs.pending.Swap(nil), l.expected.pending.Swap(false)
	switch {
	case l.port == nil:
		return
	case lower != nil && lower.Gone, upper != nil && upper.Gone:
		l.giveUp(errXDPRemoved)
		return
	}
	if addrs != nil {
		l.setAddrs(*addrs)
	}
	if paths {
		l.buildExpected()
	}
	if upper != nil {
		l.rules.MAC = upper.MAC
	}
	if lower != nil {
		l.iface.SetMTU(lower.MTU) // if this fails, longer packets go through the kernel's stack
	}
}
