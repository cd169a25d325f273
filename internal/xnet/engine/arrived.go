package engine

// Arrived completes the oldest transmitted operation that waits for the peer's acknowledgement (Send.Ack), for transports that learn of the arrival
// without a message of the peer's; those must not be mixed on one connection. It may be called while a message of the peer is half received.
func (c *Conn) Arrived() {
	if op := c.acks.pop(); op != nil {
		c.finish(op)
	}
}
