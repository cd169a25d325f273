package flow

// Sizes of the ring of segments.
const (
	ringFirst = 32
	ringKept  = 1024 // larger ones are not kept by the pool
)

// none is the end of a list of segments.
const none = ^uint32(0)

// segState is what is known of a segment.
type segState uint8

const (
	segInFlight segState = iota // in the list flight
	segLost                     // in the list lost: to be sent again
	segSacked                   // arrived, but something before it has not
)

// segment is a run of bytes that was sent in one datagram.
type segment struct {
	off         uint64 // of the stream
	sentAt      int64  // last transmission
	firstSent   int64  // rate sample: when the flight that this was sent in began
	deliveredAt int64  // rate sample: when delivered had its value
	order       uint64 // number of the last transmission, of all transmissions
	delivered   uint64 // rate sample: bytes delivered when this was sent
	run         uint32 // sacked: this and so many less one after it are known to be sacked
	prev, next  uint32 // in the list of its state
	n           uint32
	state       segState
	nparts      uint8
	retries     uint8 // transmissions after the first, saturating
	starved     bool  // the source had no more to send: its rate sample is not the path's
	asked       bool  // AckNow
	parts       [4][]byte
}

// list is a doubly linked list of segments by their numbers.
type list struct{ head, tail uint32 }

// rest says what is to follow of a segment that is longer than a datagram.
type rest struct {
	i     uint32 // the segment
	at    uint32 // bytes of it that have left
	order uint64 // of its transmission
}

// sender is the transmitting half of a busy flow.
type sender struct {
	segs       []segment // ring, a power of two
	head, tail uint32    // numbers of the oldest segment and of the next
	flight     list      // by time of transmission, oldest first
	lost       list      // in the order of detection
	rest       rest      // with fRest
	search     search
	inFlight   int // bytes in flight
	lostBytes  int
	rack       rack
	ctl        control
	rate       rate
	late       postponed // with fLate
}

func (s *sender) reset() {
	s.flight, s.lost = list{none, none}, list{none, none}
}

func (s *sender) at(i uint32) *segment { return &s.segs[i&uint32(len(s.segs)-1)] }

func (s *sender) len() int { return int(s.tail - s.head) }

// grow doubles the ring.
func (s *sender) grow() {
	segs := make([]segment, 2*len(s.segs))
	for i := s.head; i != s.tail; i++ {
		segs[i&uint32(len(segs)-1)] = *s.at(i)
	}
	s.segs = segs
}

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

// depart takes a segment out of the list that it is in.
func (s *sender) depart(i uint32) {
	g := s.at(i)
	switch g.state {
	case segInFlight:
		s.unlink(&s.flight, i)
		s.inFlight -= int(g.n)
	case segLost:
		s.unlink(&s.lost, i)
		s.lostBytes -= int(g.n)
	}
}

// find returns the number of the first segment that begins at off or later.
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

// cut appends the slices of n bytes of a segment from at on.
func (g *segment) cut(list [][]byte, at, n int) [][]byte {
	for _, p := range g.parts[:g.nparts] {
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

// trim takes n bytes from the front of a segment, less than all.
func (g *segment) trim(n uint32) {
	g.off += uint64(n)
	g.n -= n
	k := 0
	for n >= uint32(len(g.parts[k])) {
		n -= uint32(len(g.parts[k]))
		k++
	}
	copy(g.parts[:], g.parts[k:g.nparts])
	clear(g.parts[int(g.nparts)-k : g.nparts])
	g.nparts -= uint8(k)
	g.parts[0] = g.parts[0][n:]
}
