// Datagrams that leave many at a time, where the system can.

package netx

import "syscall"

// Burst is a list of datagrams to one destination, each gathered from one or more buffers, which SendBurst sends with one call where the system can
// (sendmmsg(2)). It is reused for ever: nothing allocates after NewBurst. It refers to the buffers until they are sent or Reset. Not for concurrent use.
type Burst struct {
	v    IOV
	ends []int // v.vec[ends[i-1]:ends[i]] is datagram i
	head int   // datagrams before it are sent
	cut  bool  // an error ended the last SendBurst after some of them
	vecs burstVecs
}

// NewBurst returns a Burst for up to n datagrams of up to buffers buffers, at most IOVMax, together.
func NewBurst(n, buffers int) *Burst {
	b := &Burst{v: *NewIOV(buffers), ends: make([]int, 0, n)}
	b.prepare(n)
	return b
}

// Reset empties the list and lets go of its buffers.
func (b *Burst) Reset() {
	b.v.Reset()
	b.ends, b.head, b.cut = b.ends[:0], 0, false
}

// Append adds a buffer to the datagram that End will end, and reports whether there was room.
func (b *Burst) Append(p []byte) bool { return b.v.Append(p) }

// End ends a datagram, which may be empty, and reports whether there is room for another.
func (b *Burst) End() (more bool) {
	b.ends = append(b.ends, len(b.v.vec))
	return len(b.ends) < cap(b.ends) && b.v.Room() > 0
}

// Cut takes back the buffers that were added since the last End.
func (b *Burst) Cut() {
	first := 0
	if n := len(b.ends); n > 0 {
		first = b.ends[n-1]
	}
	for _, e := range b.v.vec[first:] {
		b.v.bytes -= int(e.Len)
	}
	clear(b.v.vec[first:])
	b.v.vec = b.v.vec[:first]
}

// Len is the number of datagrams left.
func (b *Burst) Len() int { return len(b.ends) - b.head }

// Stopped reports whether the last SendBurst was to send more than it did. What was the matter, the next one tells, unless it was an error of an earlier
// datagram, which the system tells once only.
func (b *Burst) Stopped() bool { return b.cut }

// vec is the buffers of datagram i.
func (b *Burst) vec(i int) []iovec {
	first := 0
	if i > 0 {
		first = b.ends[i-1]
	}
	return b.v.vec[first:b.ends[i]]
}

// SendBurst sends the first datagrams of b, as many as go at once but no more than most: n of them, at least one without an error, and none with one.
// b forgets those sent, so that the next call goes on with the first that is left, or says what is wrong with it (Stopped). Errors as SendTo. It never waits.
func SendBurst(fd FD, to *SockAddr, b *Burst, most int) (n int, err syscall.Errno) {
	most = min(most, b.Len())
	for {
		if n, err = sysSendBurst(fd, to, b, most); err != syscall.EINTR {
			b.head += n
			b.cut = err == 0 && n < most && Batches
			return n, err
		}
	}
}
