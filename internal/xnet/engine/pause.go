package engine

// A peer may be refused as often as it likes (verdict.go), and asking costs it less than finding out that it may not costs us. So a connection on which this
// happens again and again pauses: the driver goes on with it when it thinks fit, and thinks of all its connections together.

// refusalsAtOnce is how many accesses are refused before a connection pauses.
const refusalsAtOnce = 16

// PauseNanos is what a driver should let pass for each pause, of whichever of its connections: 20,000 refusals a second in all.
const PauseNanos = 800_000

// refusedOnce counts a refusal.
func (c *Conn) refusedOnce() {
	s := c.speech()
	if s.refusals++; s.refusals >= refusalsAtOnce && c.stall == flowing {
		s.refusals = 0
		c.becomeStalled(stallRefused)
	}
}

// Paused reports that the connection takes no bytes until Unpause, because of what the peer asks for.
func (c *Conn) Paused() bool { return c.stall == stallRefused && c.state != Closed }

// Unpause goes on. It may pause again at once.
func (c *Conn) Unpause() {
	if c.stall == stallRefused {
		c.unstall()
	}
}
