package udp

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"gofabric/internal/dgram"
)

// expected is destinations that were told of and have no headers yet, for the way there is being asked for.
type expected struct {
	stop  func() // ends what FollowPaths of the table began
	peers []*xdpPeer
	some  atomic.Bool // there are peers
	news  atomic.Bool // ways were found, and not looked at yet
}

// expect implements expressLink. Beyond some destinations it is left to the first datagram: the kernel keeps no more than 1,024 neighbours (gc_thresh3), and who
// inserts thousands rarely speaks to all.
func (l *xdpLink) expect(dest netip.AddrPort) {
	if len(l.peers) >= dgram.ExpectMost || l.gone || dest.Addr().IsMulticast() {
		return
	}
	q, a := l.known(dest), &l.ahead
	if slices.Contains(a.peers, q) {
		return
	}
	a.some.Store(true) // before the question, whose answer may come at once
	if !l.find(q) {
		a.peers = append(a.peers, q)
	}
	a.some.Store(len(a.peers) > 0)
}

// prebuild makes the headers for the destinations expected to which a way is known by now.
func (l *xdpLink) prebuild() {
	a := &l.ahead
	a.peers = slices.DeleteFunc(a.peers, l.find)
	a.some.Store(len(a.peers) > 0)
}

// found is told, by the table's goroutine, that there are ways that there were not before.
func (l *xdpLink) found() {
	if a := &l.ahead; a.some.Load() && !a.news.Swap(true) {
		go l.heed()
	}
}
