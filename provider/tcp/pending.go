package tcp

import (
	"net/netip"
	"time"
)

const (
	// pendingMax is how many accepted connections may wait for their connection request at a time, where there are descriptors enough. One costs 1 KiB here; in
	// a full listen queue it would cost the system's time, for the peer repeats what it sends.
	pendingMax = 16384
	// pendingRate is how many of them a second may close without a valid request: to accept one and close it costs about 20 us.
	pendingRate = 1024
	// pendingGrace is how long each may take for its request before another one may displace it, where many have room.
	pendingGrace = 2 * time.Second
)

// pendingConns are accepted connections of a listener whose request has not come. When there is no room for another one, the address with most of them gives up
// its oldest one, if the grace of that is over. Only so many a second may close without a valid request. It does no I/O, and time is an argument.
type pendingConns struct {
	max     int
	grace   time.Duration // of each
	rate    int           // how many may fail per interval
	n       int           // connections
	sources map[netip.Prefix]*source
	bySize  []sourceList    // bySize[i]: the sources with i+1 connections
	failed  []time.Duration // when connections failed lately; in order
}

// pendingConn is one of them.
type pendingConn struct {
	s          *tcpStream
	source     *source
	since      time.Duration
	prev, next *pendingConn // of the same source; prev is older
}

// source is an address, with the pending connections from there.
type source struct {
	from           netip.Prefix
	n              int
	oldest, newest *pendingConn
	prev, next     *source // of the same size
}

// sourceList is a list of sources; the first one has had its size for the longest time.
type sourceList struct{ first, last *source }

// init sets how many there may be.
func (t *pendingConns) init(max int) {
	*t = pendingConns{max: max, rate: min(max, pendingRate), sources: map[netip.Prefix]*source{}}
	t.grace = min(pendingGrace, time.Duration(max)*time.Second/pendingRate) // where few have room, none may stay for long
}

// sourceOf is what counts as one address: all IPv6 addresses of a network of 64 bits do, for a host can use any of them (RFC 4291).
func sourceOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // of a valid address
	return p
}

// room reports whether there is room for another one.
func (t *pendingConns) room() bool { return t.n < t.max }

// rateAllows reports whether another one may be accepted, after those that have failed lately.
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

// victim returns the oldest one of the source that has most; nil if there is none.
func (t *pendingConns) victim() *pendingConn {
	if len(t.bySize) == 0 {
		return nil
	}
	return t.bySize[len(t.bySize)-1].first.oldest
}

// graceOver reports whether another one may displace x.
func (t *pendingConns) graceOver(x *pendingConn, now time.Duration) bool {
	return now-x.since >= t.grace
}

// add adds a connection of s from an address.
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

// remove takes out x: its request has come (valid), or it has failed.
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

// countFailure notes that a connection was accepted and closed without a valid request.
func (t *pendingConns) countFailure(now time.Duration) { t.failed = append(t.failed, now) }

// link and unlink keep h in the list of its size.
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
