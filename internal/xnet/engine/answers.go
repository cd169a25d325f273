package engine

import "gofabric/internal/xnet/wire"

// answersMax is how many acknowledgements and clearances may wait for a peer that does not read them before it is not read either. It is far more
// than an honest peer has under way, for two ends that both stop reading would wait for each other.
const answersMax = 1 << 16

// answers bounds from above how many acknowledgements and clearances wait for transmission. They share staging memory with messages, so that they
// are counted in two generations, of which the older is forgotten when the stream has passed its end.
type answers struct {
	older, newer int32
	end          uint64 // position in the stream where older ends
}

// speech is what a connection holds of answers in both directions. It has them from the first on.
type speech struct {
	answers
	verdicts
	refusals uint8 // since the last pause
}

func (c *Conn) speech() *speech {
	if c.said == nil {
		c.said = &speech{}
	}
	return c.said
}

// turn begins a generation at position at, if the older one has left with the first sent bytes.
func (a *answers) turn(sent, at uint64) {
	if sent >= a.end {
		a.older, a.newer, a.end = a.newer, 0, at
	}
}

// answer queues a header that the peer waits for.
func (c *Conn) answer(h *wire.Header) {
	c.stageHeader(h, nil, false)
	c.answered()
}

// answered counts an answer that was queued.
func (c *Conn) answered() {
	a := &c.speech().answers
	if a.newer++; a.older+a.newer > answersMax/4 {
		a.turn(c.BytesOut, c.BytesOut+uint64(c.out.bytes))
		if a.older+a.newer > answersMax {
			c.becomeStalled(stallReplies)
		}
	}
	c.sink.Replied(c)
}

// fewAnswers reports that the peer has read enough of its answers to be read again.
func (c *Conn) fewAnswers() bool {
	a := &c.speech().answers
	a.turn(c.BytesOut, c.BytesOut+uint64(c.out.bytes))
	return a.older+a.newer <= answersMax/2
}
