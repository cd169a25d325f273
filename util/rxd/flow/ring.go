package flow

// Sizes of the ring of segments.
const (
	ringFirst = 32   // segments
	ringKept  = 1024 // larger rings go to the garbage collector
)

// none ends a list of segments.
const none = ^uint32(0)

// segState is what is known about a segment.
type segState uint8

const (
	segInFlight segState = iota // in the list flight
	segLost                     // in the list lost, to be sent again
	segSacked                   // arrived, but something before it has not
)

// segment is a range of the stream that was sent in one datagram. It keeps slices of the source's buffers, not a
// copy, to be sent again.
type segment struct {
	off         uint64 // of its first byte in the stream
	sentAt      int64  // last transmission
	firstSent   int64  // rate sample: rate.firstSent at the transmission
	deliveredAt int64  // rate sample: rate.deliveredAt at the transmission
	order       uint64 // number of its last transmission, counted over all segments
	delivered   uint64 // rate sample: rate.delivered at the transmission
	run         uint32 // with segSacked: this many segments from this one on have arrived
	prev, next  uint32 // in the list of its state
	n           uint32 // bytes
	state       segState
	nparts      uint8
	retries     uint8 // transmissions after the first, 255 at most
	ackNow      bool  // it asked for an acknowledgement at once
	parts       [4][]byte
}

// list is a doubly linked list of segments by their numbers. It needs no allocation, and a segment leaves it in
// constant time.
type list struct{ head, tail uint32 }

// remainder says what is still to be sent of a segment that is longer than a datagram.
type remainder struct {
	segment uint32 // its number
	sent    uint32 // bytes of it that have left
	order   uint64 // of its transmission
}

// sender is the transmitting half of a busy flow: the ring of segments between sndUna and sndNxt, and the state of
// loss detection and congestion control.
//
// Segments have ascending numbers; segment i is in segs[i&(len-1)]. Each is in the list of its state, except those
// that have arrived.
type sender struct {
	segs       []segment // ring; its length is a power of two
	head, tail uint32    // numbers of the oldest segment and of the next one
	flight     list      // in the order of transmission
	lost       list      // in the order of detection
	remainder  remainder // with fRemainder
	search     search
	inFlight   int // bytes in flight
	lostBytes  int // bytes in the list lost
	rack       rack
	cc         congestion
	rate       rate
	delayed    delayedAck // with fAckDelayed
}

// reset prepares a sender that comes from the pool, all of whose fields are zero.
func (s *sender) reset() {
	s.flight, s.lost = list{none, none}, list{none, none}
}

// at returns segment i. The pointer is valid until grow.
func (s *sender) at(i uint32) *segment { return &s.segs[i&uint32(len(s.segs)-1)] }

// len returns the number of segments in the ring.
func (s *sender) len() int { return int(s.tail - s.head) }

// grow doubles the ring.
func (s *sender) grow() {
	segs := make([]segment, 2*len(s.segs))
	for i := s.head; i != s.tail; i++ {
		segs[i&uint32(len(segs)-1)] = *s.at(i)
	}
	s.segs = segs
}

// push appends segment i to a list.
func (s *sender) push(l *list, i uint32) {
	g := s.at(i)
	g.prev, g.next = l.tail, none
	if l.tail == none {
		l.head = i
	} else {
		s.at(l.tail).next = i
	}
	l.tail = i
}

// unshift puts segment i at the front of a list.
func (s *sender) unshift(l *list, i uint32) {
	g := s.at(i)
	g.prev, g.next = none, l.head
	if l.head == none {
		l.tail = i
	} else {
		s.at(l.head).prev = i
	}
	l.head = i
}

// unlink takes segment i out of a list.
func (s *sender) unlink(l *list, i uint32) {
	g := s.at(i)
	if g.prev == none {
		l.head = g.next
	} else {
		s.at(g.prev).next = g.next
	}
	if g.next == none {
		l.tail = g.prev
	} else {
		s.at(g.next).prev = g.prev
	}
}

// unlinkState takes segment i out of the list of its state, and its bytes out of the count of that list.
func (s *sender) unlinkState(i uint32) {
	g := s.at(i)
	// segSacked segments are in no list.
	switch g.state {
	case segInFlight:
		s.unlink(&s.flight, i)
		s.inFlight -= int(g.n)
	case segLost:
		s.unlink(&s.lost, i)
		s.lostBytes -= int(g.n)
	}
}

// find returns the number of the first segment that begins at off or behind it.
func (s *sender) find(off uint64) uint32 {
	lo, hi := s.head, s.tail
	for lo != hi {
		m := lo + (hi-lo)/2
		if s.at(m).off < off {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// cut appends slices with n bytes of the segment, from byte at on, to list.
func (g *segment) cut(list [][]byte, at, n int) [][]byte {
	for _, p := range g.parts[:g.nparts] {
		// The range begins behind this part.
		if at >= len(p) {
			at -= len(p)
			continue
		}
		p, at = p[at:], 0
		if len(p) >= n {
			return append(list, p[:n])
		}
		list = append(list, p)
		n -= len(p)
	}
	return list
}

// trim removes the first n bytes of a segment. n is less than its length.
func (g *segment) trim(n uint32) {
	g.off += uint64(n)
	g.n -= n
	k := 0
	for n >= uint32(len(g.parts[k])) {
		n -= uint32(len(g.parts[k]))
		k++
	}
	// Drop whole parts, and shorten the first one that is left.
	copy(g.parts[:], g.parts[k:g.nparts])
	clear(g.parts[int(g.nparts)-k : g.nparts])
	g.nparts -= uint8(k)
	g.parts[0] = g.parts[0][n:]
}
