package tcp

import (
	"net/netip"
	"time"
)

const (
	// strangersMax is how many accepted connections may wait for their first message at a time, where there are descriptors enough. To keep one costs 1 KiB;
	// one that is left in the listen queue until that is full costs the system's time, for the peer repeats what it sends.
	strangersMax = 16384
	// strangersRate is how many a second may come and go without having said anything good: accepting one and closing it costs about 20 us.
	strangersRate = 1024
	// strangersGrace is how long each may take where there are many places.
	strangersGrace = 2 * time.Second
)

// strangers are accepted connections of a listener whose request has not come. When there is no room for another one, the address that has most of them gives up
// its oldest one, if it has had its time. No more than a certain number a second come and go without a request, or with nonsense. It does no I/O and is told the
// time.
type strangers struct {
	max   int
	grace time.Duration // that each has
	rate  int           // that may go a second without having said anything good
	n     int           // that wait
	homes map[netip.Prefix]*home
	by    []homes         // by[i]: of the addresses that have i+1
	spent []time.Duration // when those have gone, lately; in order
}

// stranger is one of them.
type stranger struct {
	s          *tcpStream
	home       *home
	since      time.Duration
	prev, next *stranger // of the same home; prev is older
}

// home is an address with those that come from there.
type home struct {
	from           netip.Prefix
	n              int
	oldest, newest *stranger
	prev, next     *home // with as many
}

// homes is a list of such; the first one has had as many for the longest time.
type homes struct{ first, last *home }

// init says how many there may be.
func (t *strangers) init(max int) {
	*t = strangers{max: max, rate: min(max, strangersRate), homes: map[netip.Prefix]*home{}}
	t.grace = min(strangersGrace, time.Duration(max)*time.Second/strangersRate) // few places must not be taken for long
}

// homeOf is what counts as one address: who has an address of IPv6 has all that differ in the second half (RFC 4291).
func homeOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // of a valid address
	return p
}

// room reports whether there is a place.
func (t *strangers) room() bool { return t.n < t.max }

// calm reports whether another one may be taken as far as those are concerned that have gone.
func (t *strangers) calm(now time.Duration) bool {
	i := 0
	for i < len(t.spent) && now-t.spent[i] >= time.Duration(t.rate)*time.Second/strangersRate {
		i++
	}
	if i > 0 {
		t.spent = append(t.spent[:0], t.spent[i:]...)
	}
	return len(t.spent) < t.rate
}

// crowded returns the oldest of the address that has most; nil if there is none. It has had its time if ripe says so.
func (t *strangers) crowded() *stranger {
	if len(t.by) == 0 {
		return nil
	}
	return t.by[len(t.by)-1].first.oldest
}

// ripe reports whether x has had its time.
func (t *strangers) ripe(x *stranger, now time.Duration) bool { return now-x.since >= t.grace }

// enter takes in a connection of s from an address.
func (t *strangers) enter(s *tcpStream, from netip.Addr, now time.Duration) *stranger {
	key := homeOf(from)
	h := t.homes[key]
	if h == nil {
		h = &home{from: key}
		t.homes[key] = h
	} else {
		t.take(h)
	}
	x := &stranger{s: s, home: h, since: now, prev: h.newest}
	if h.newest == nil {
		h.oldest = x
	} else {
		h.newest.next = x
	}
	h.newest = x
	h.n++
	t.put(h)
	t.n++
	return x
}

// leave takes out x, which has said something good or has not.
func (t *strangers) leave(x *stranger, good bool, now time.Duration) {
	h := x.home
	t.take(h)
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
		delete(t.homes, h.from)
	} else {
		t.put(h)
	}
	for n := len(t.by); n > 0 && t.by[n-1].first == nil; n-- {
		t.by = t.by[:n-1]
	}
	t.n--
	if !good {
		t.spend(now)
	}
}

// spend notes that somebody has come and gone.
func (t *strangers) spend(now time.Duration) { t.spent = append(t.spent, now) }

// put and take keep h among the homes that have as many.
func (t *strangers) put(h *home) {
	for len(t.by) < h.n {
		t.by = append(t.by, homes{})
	}
	l := &t.by[h.n-1]
	if h.prev = l.last; h.prev == nil {
		l.first = h
	} else {
		h.prev.next = h
	}
	l.last = h
}

func (t *strangers) take(h *home) {
	l := &t.by[h.n-1]
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
