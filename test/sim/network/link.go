package network

// Link is one direction of a path, or a bottleneck that several paths share: a queue, then a link with a rate, then
// loss and delay. The zero Link delivers everything at once.
type Link struct {
	Rate    int64 // bytes per second; 0: unlimited
	Queue   int64 // bytes that fit into the queue; 0: unlimited
	Longest int   // bytes of the longest datagram that is not lost; 0: unlimited

	// Probabilities.
	Loss, Dup, Reorder, Corrupt float64
	Late                        float64 // that the copy of a repeated datagram is much later

	// Nanoseconds.
	Delay  int64
	Jitter int64 // added to Delay, up to this much
	Behind int64 // delay of a reordered datagram, up to this much
	Latest int64 // delay of a copy, up to this much

	Sent, Lost, Full int // datagrams; Full: dropped because the queue was full

	freeAt int64 // when the link has sent everything
}

// headers is the length of the IPv4 and UDP headers of a datagram.
const headers = 28

// enter puts a datagram of size bytes into the queue. It returns how long the datagram takes to leave the link, and
// false if there is no room.
func (l *Link) enter(s *Sched, size int) (after int64, ok bool) {
	if l.Rate == 0 {
		return 0, true
	}
	size += headers
	l.freeAt = max(l.freeAt, s.Now)
	if l.Queue > 0 && (l.freeAt-s.Now)*l.Rate/1e9+int64(size) > l.Queue {
		return 0, false
	}
	l.freeAt += int64(size)*1e9/l.Rate + s.Int64N(50) // a random part keeps links out of phase
	return l.freeAt - s.Now, true
}

// late draws the delay of a datagram, or of its copy, behind the link.
func (l *Link) late(s *Sched, isCopy bool) int64 {
	d := l.Delay
	if l.Jitter > 0 {
		d += s.Int64N(l.Jitter)
	}
	if s.Float64() < l.Reorder {
		d += s.Int64N(l.Behind + 1)
	}
	if isCopy && s.Float64() < l.Late {
		d += s.Int64N(l.Latest)
	}
	return d
}
