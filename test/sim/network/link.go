package network

// Link is one direction of a path, or a bottleneck that several paths share: a queue, then a wire with a rate, then loss and delay. The zero Link delivers
// everything at once.
type Link struct {
	Rate    int64 // bytes per second; 0: any number
	Queue   int64 // bytes that fit before the wire; 0: any number
	Longest int   // bytes of the longest datagram that is not lost; 0: any number

	// Probabilities.
	Loss, Dup, Reorder, Corrupt float64
	Late                        float64 // that the copy of a repeated datagram comes much later

	// Nanoseconds.
	Delay  int64
	Jitter int64 // on top of it, up to so much
	Behind int64 // by which a reordered datagram is late, up to so much
	Latest int64 // by which a copy is late, up to so much

	Sent, Lost, Full int // datagrams; Full: dropped because the queue was full

	freeAt int64 // when the wire has sent everything
}

// headers is what a datagram has on the wire besides its bytes: IPv4's and UDP's headers.
const headers = 28

// enter puts a datagram of size bytes into the queue, and returns how long it takes to leave the wire; false: there is no room.
func (l *Link) enter(s *Sched, size int) (after int64, ok bool) {
	if l.Rate == 0 {
		return 0, true
	}
	size += headers
	l.freeAt = max(l.freeAt, s.Now)
	if l.Queue > 0 && (l.freeAt-s.Now)*l.Rate/1e9+int64(size) > l.Queue {
		return 0, false
	}
	l.freeAt += int64(size)*1e9/l.Rate + s.Int64N(50) // no two wires are in step
	return l.freeAt - s.Now, true
}

// late draws the delay behind the wire of a datagram or of its copy.
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
