// Sends of many datagrams with one call, where the system has such a call.

package netx

import "syscall"

// Burst is a list of datagrams to one destination. Each is gathered from one or more buffers. SendBurst sends them
// with one call where the system can (sendmmsg(2)). A Burst is reused without limit, and nothing allocates after
// NewBurst. It refers to the buffers until they are sent or Reset is called. It is not for concurrent use.
type Burst struct {
	v    IOV
	ends []int // v.vec[ends[i-1]:ends[i]] is datagram i
	head int   // datagrams before it have been sent
	cut  bool  // an error ended the last SendBurst after it had sent some
	vecs burstVecs
}

// NewBurst returns a Burst for up to n datagrams. Together they have up to buffers buffers, at most IOVMax.
func NewBurst(n, buffers int) *Burst {
	b := &Burst{v: *NewIOV(buffers), ends: make([]int, 0, n)}
	b.prepare(n)
	return b
}

// Reset empties the list and drops its references to buffers.
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
	clear(b.v.vec[first:])
	b.v.vec = b.v.vec[:first]
}

// Len is the number of datagrams left.
func (b *Burst) Len() int { return len(b.ends) - b.head }

// Stopped reports whether the last SendBurst sent fewer datagrams than it was asked to. The next SendBurst returns
// the error that stopped it, unless that error was about an earlier datagram: the system reports such an error only
// once.
func (b *Burst) Stopped() bool { return b.cut }

// vec returns the buffers of datagram i.
func (b *Burst) vec(i int) []iovec {
	first := 0
	if i > 0 {
		first = b.ends[i-1]
	}
	return b.v.vec[first:b.ends[i]]
}

// SendBurst sends the first datagrams of b, no more than most. n is how many it sent: at least one without an
// error, and none with one. b drops those sent, so the next call continues with the first that is left, or returns
// the error of that one (Stopped). Errors are those of SendTo. It never waits.
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
