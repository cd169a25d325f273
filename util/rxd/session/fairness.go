package session

import "math"

// Peers that send to one endpoint share its socket buffer. While datagrams wait there, the receiver decides which
// peer goes on, because a peer goes on when its datagrams are acknowledged. Left to the scheduler and to chance,
// the peer that is quickest to fill the buffer again gets the most. So acknowledgements to peers that have sent
// more than the others wait until the buffer is empty, or for ackDelayMax (flow.Flow.DelayAcks). No peer loses by
// that: while others have data in the buffer they get the time, and when none has, nothing waits.

const (
	// Bytes above the mean that do not count.
	shareSlack = 256 << 10
	// After this many bytes of all peers everything before counts half.
	shareEra = 256 << 20
)

// fairness is what an endpoint knows about the bytes that its peers sent lately.
type fairness struct {
	era     uint16  // number of halvings
	total   float64 // sum of the shares, bytes
	squares float64 // sum of their squares
}

// share is the part of one peer, in bytes. float32 keeps it small, as there may be many peers; its resolution, 32
// bytes of 256 MiB, is sufficient.
type share struct {
	bytes float32
	era   uint16 // in which bytes is valid
	known bool   // it has sent before
}

// mean is the share of the average byte, rather than of the average peer: if a few peers send nearly everything, it
// is theirs, however many others there are.
func (s *fairness) mean() float64 {
	if s.total <= 0 {
		return 0
	}
	return s.squares / s.total
}

// set changes a share and the sums.
func (s *fairness) set(c *share, bytes float64) {
	is, was := float32(bytes), float64(c.bytes)
	s.total += float64(is) - was
	s.squares += float64(is)*float64(is) - was*was
	c.bytes = is
}

// age applies the halvings since the share was last changed.
func (s *fairness) age(c *share) {
	c.bytes = float32(math.Ldexp(float64(c.bytes), -int(s.era-c.era)))
	c.era = s.era
}

// add adds n bytes to a peer's share and reports whether it is ahead of the others.
func (s *fairness) add(c *share, n int) bool {
	if s.total >= shareEra {
		s.era++
		s.total /= 2
		s.squares /= 4
	}
	if c.era != s.era {
		s.age(c)
	}
	// A new peer begins with the mean. Otherwise all others would count as ahead of it, for what they sent before
	// it came.
	if !c.known {
		c.known = true
		s.set(c, s.mean())
	}
	s.set(c, float64(c.bytes)+float64(n))
	// The share is greater than mean and slack, computed without a division per datagram.
	return (float64(c.bytes)-shareSlack)*s.total > s.squares
}

// remove takes out the share of a peer that has ended.
func (s *fairness) remove(c *share) {
	s.age(c)
	s.set(c, 0)
	if s.total < 1 || s.squares < 1 { // rounding errors
		s.total, s.squares = 0, 0
	}
}
