package tcp

import (
	"net/netip"
	"time"
)

const (
	// pendingMax is the largest number of accepted connections that wait for a connection request, if descriptors
	// suffice. One costs 1 KiB here. In a full listen queue it would cost the system's time, because the peer
	// retransmits.
	pendingMax = 16384
	// pendingRate is how many of them may close per second without a valid request. To accept and close one costs
	// about 20 us.
	pendingRate = 1024
	// pendingGrace is how long each may take to send its request before another one may displace it, if there is
	// much room.
	pendingGrace = 2 * time.Second
)

// pendingConns are accepted connections of a listener that have sent no request. When it is full, a new one
// displaces the oldest one of the address that has most, if the grace of that one is over. The number that may
// close per second without a valid request is bounded, too. It does no I/O, and time is an argument.
type pendingConns struct {
	max     int
	grace   time.Duration // of each
	rate    int           // failures allowed per interval
	n       int           // number of connections
	sources map[netip.Prefix]*source
	bySize  []sourceList    // bySize[i]: the sources with i+1 connections
	failed  []time.Duration // times of recent failures, in order
}

// pendingConn is one pending connection.
type pendingConn struct {
	s          *tcpStream
	source     *source
	since      time.Duration
	prev, next *pendingConn // of the same source; prev is older
}

// source is an address with its pending connections.
type source struct {
	from           netip.Prefix
	n              int
	oldest, newest *pendingConn
	prev, next     *source // in the list of sources of the same size
}

// sourceList is a list of sources of one size. The first one has had this size for the longest time.
type sourceList struct{ first, last *source }

// init sets the largest number of connections.
func (t *pendingConns) init(max int) {
	*t = pendingConns{max: max, rate: min(max, pendingRate), sources: map[netip.Prefix]*source{}}
	// With little room, each may stay only for a short time.
	t.grace = min(pendingGrace, time.Duration(max)*time.Second/pendingRate)
}

// sourceOf returns the address prefix that counts as one source. For IPv6 it is the 64-bit network, since a host
// can use any address in it (RFC 4291, 2.5.1).
func sourceOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // cannot fail for a valid address
	return p
}

// room reports whether another connection fits.
func (t *pendingConns) room() bool { return t.n < t.max }

// rateAllows reports whether another connection may be accepted, given the recent failures.
func (t *pendingConns) rateAllows(now time.Duration) bool {
	i := 0
	for i < len(t.failed) && now-t.failed[i] >= time.Duration(t.rate)*time.Second/pendingRate {
		i++
	}
	if i > 0 {
		t.failed = append(t.failed[:0], t.failed[i:]...)
	}
	return len(t.failed) < t.rate
}

// victim returns the oldest connection of the source that has most. It returns nil if there is no connection.
func (t *pendingConns) victim() *pendingConn {
	if len(t.bySize) == 0 {
		return nil
	}
	return t.bySize[len(t.bySize)-1].first.oldest
}

// graceOver reports whether another connection may displace x.
func (t *pendingConns) graceOver(x *pendingConn, now time.Duration) bool {
	return now-x.since >= t.grace
}

// add adds a connection from an address.
func (t *pendingConns) add(s *tcpStream, from netip.Addr, now time.Duration) *pendingConn {
	key := sourceOf(from)
	h := t.sources[key]
	if h == nil {
		h = &source{from: key}
		t.sources[key] = h
	} else {
		t.unlink(h)
	}
	x := &pendingConn{s: s, source: h, since: now, prev: h.newest}
	if h.newest == nil {
		h.oldest = x
	} else {
		h.newest.next = x
	}
	h.newest = x
	h.n++
	t.link(h)
	t.n++
	return x
}

// remove removes x. valid means that its request has arrived, else it has failed.
func (t *pendingConns) remove(x *pendingConn, valid bool, now time.Duration) {
	h := x.source
	t.unlink(h)
	if x.prev == nil {
		h.oldest = x.next
	} else {
		x.prev.next = x.next
	}
	if x.next == nil {
		h.newest = x.prev
	} else {
		x.next.prev = x.prev
	}
	if h.n--; h.n == 0 {
		delete(t.sources, h.from)
	} else {
		t.link(h)
	}
	for n := len(t.bySize); n > 0 && t.bySize[n-1].first == nil; n-- {
		t.bySize = t.bySize[:n-1]
	}
	t.n--
	if !valid {
		t.countFailure(now)
	}
}

// countFailure counts a connection that was accepted and closed without a valid request.
func (t *pendingConns) countFailure(now time.Duration) { t.failed = append(t.failed, now) }

// link and unlink add h to, and remove it from, the list of its size.
func (t *pendingConns) link(h *source) {
	for len(t.bySize) < h.n {
		t.bySize = append(t.bySize, sourceList{})
	}
	l := &t.bySize[h.n-1]
	if h.prev = l.last; h.prev == nil {
		l.first = h
	} else {
		h.prev.next = h
	}
	l.last = h
}

func (t *pendingConns) unlink(h *source) {
	l := &t.bySize[h.n-1]
	if h.prev == nil {
		l.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		l.last = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.prev, h.next = nil, nil
}
