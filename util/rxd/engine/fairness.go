package engine

import "math"

// A receiver that many send to is what they share, and as long as datagrams wait in its socket it decides who of them goes on: who hears that his have arrived.
// That leaves to the scheduler of a host, and to chance, who is quick to fill the socket again. So acknowledgements of peers that have sent more than the others
// wait until nothing is left in the socket, or ackDelayMax: nobody loses anything by that while others have sent, and when nobody has, nothing waits.

const (
	shareSlack = 256 << 10 // bytes more than others' that nobody minds
	shareEra   = 256 << 20 // bytes of all after which what came before counts half
)

// fairness is what an endpoint knows of who has sent how much lately.
type fairness struct {
	era     uint16
	total   float64
	squares float64 // sum of the squares of the shares
}

// share is a peer's. It is small, for there may be many: what bytes cannot tell apart, 32 of 256 MiB, is of no weight.
type share struct {
	bytes float32
	era   uint16
	known bool
}

// mean is the share that the average byte belongs to: where a few send nearly everything it is theirs, however many others there are.
func (s *fairness) mean() float64 {
	if s.total <= 0 {
		return 0
	}
	return s.squares / s.total
}

// set changes a share.
func (s *fairness) set(c *share, bytes float64) {
	is, was := float32(bytes), float64(c.bytes)
	s.total += float64(is) - was
	s.squares += float64(is)*float64(is) - was*was
	c.bytes = is
}

// age brings a share up to date.
func (s *fairness) age(c *share) {
	c.bytes = float32(math.Ldexp(float64(c.bytes), -int(s.era-c.era)))
	c.era = s.era
}

// took notes that n bytes of a peer have come, and reports whether it is ahead of the others.
func (s *fairness) took(c *share, n int) bool {
	if s.total >= shareEra {
		s.era++
		s.total /= 2
		s.squares /= 4
	}
	if c.era != s.era {
		s.age(c)
	}
	if !c.known { // nobody owes it what he has sent before it came
		c.known = true
		s.set(c, s.mean())
	}
	s.set(c, float64(c.bytes)+float64(n))
	return (float64(c.bytes)-shareSlack)*s.total > s.squares // more than mean and slack, without a division for each datagram
}

// forget takes out a peer that has ended.
func (s *fairness) forget(c *share) {
	s.age(c)
	s.set(c, 0)
	if s.total < 1 || s.squares < 1 { // what rounding leaves
		s.total, s.squares = 0, 0
	}
}
