package udp

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"gofabric/internal/transport/datagram"
)

// expectedPeers are the destinations of expect that have no headers yet, as their paths are unknown.
type expectedPeers struct {
	stop    func() // ends Table.FollowPaths
	peers   []*xdpPeer
	some    atomic.Bool // there are peers
	pending atomic.Bool // paths were found and not used yet
}

// expect implements bypassDatapath. Beyond some number of destinations, only the first datagram queries the path: the
// kernel keeps no more than 1,024 neighbours (gc_thresh3), and an application that inserts thousands of addresses
// rarely sends to all of them.
func (l *xdpDatapath) expect(dest netip.AddrPort) {
	if len(l.peers) >= datagram.ExpectMost || l.ended || dest.Addr().IsMulticast() {
		return
	}
	q, a := l.known(dest), &l.expected
	if slices.Contains(a.peers, q) {
		return
	}
	a.some.Store(true) // before find, because pathsFound may be called at once
	if !l.find(q) {
		a.peers = append(a.peers, q)
	}
	a.some.Store(len(a.peers) > 0)
}

// buildExpected makes the headers for the expected destinations whose paths are now known.
func (l *xdpDatapath) buildExpected() {
	a := &l.expected
	a.peers = slices.DeleteFunc(a.peers, l.find)
	a.some.Store(len(a.peers) > 0)
}

// pathsFound is called by the table's goroutine when it has found paths.
func (l *xdpDatapath) pathsFound() {
	if a := &l.expected; a.some.Load() && !a.pending.Swap(true) {
		go l.applyChanges()
	}
}
