package engine

// Transmitting. A transport that needs bytes only once takes them with Pending and Transmitted. One that repeats
// lost bytes takes them with Next, and calls Transmitted when the peer has acknowledged them.
//
// HasPending reports whether there is something to transmit.
func (c *Conn) HasPending() bool { return !c.out.empty() }

// Staged returns the number of staged bytes that wait for transmission.
func (c *Conn) Staged() int { return c.out.queued }

// Queued returns the number of all bytes that wait for transmission.
func (c *Conn) Queued() int { return c.out.bytes }

// Lent reports whether the last bytes of the queue are in a buffer of the application.
func (c *Conn) Lent() bool { return c.out.endsLent() }

// Unsent returns the number of bytes that Next has not handed out.
func (c *Conn) Unsent() int { return c.out.bytes - c.out.ahead }

// Handed returns the number of bytes that Next has handed out and Transmitted has not released.
func (c *Conn) Handed() int { return c.out.ahead }

// Pending returns the next bytes to transmit, in at most cap(more) slices. If there is only one, it is first, and
// list is nil. The slices are valid until the next call that changes the connection.
func (c *Conn) Pending(more [][]byte, maxBytes int) (first []byte, list [][]byte) {
	return c.out.pending(more, maxBytes)
}

// Next returns the next bytes of the stream for a transport that keeps them until they are acknowledged: at most
// maxBytes, in slices appended to list up to its capacity. It returns list and the number of bytes.
//
// The slices may be read until Transmitted has released them or the connection has ended (Sink.Failed, Drop).
// Cancel does not touch them. While something is Awaited, the driver calls Transmitted for an acknowledgement
// before Receive for the bytes that came with it, because the peer answers only messages that have arrived.
func (c *Conn) Next(list [][]byte, maxBytes int) ([][]byte, int) {
	return c.out.handOut(&c.pool.stagePool, list, maxBytes)
}

// Transmitted says that the transport took the next n bytes or, after Next, that it no longer needs the oldest n
// bytes.
func (c *Conn) Transmitted(n int) {
	p := &c.pool.stagePool
	c.BytesOut += uint64(n)
	c.out.released(p, n)
	for {
		op, left := c.out.next(p, n)
		if op == nil {
			break
		}
		n = left
		c.transmitted(op)
	}
	// All answers have left.
	if c.out.empty() && c.answers != nil {
		c.answers.budget = answerBudget{}
	}
	// The peer has read its answers: it is read again at half of the limit, so that it does not stall for each
	// answer.
	if c.in.stall == stallReplies && int(c.replies) <= c.cfg.InternalMax/2 && c.results <= fetchMax && c.fewAnswers() {
		c.resume()
	}
}

// fewAnswers reports that few answers wait for the peer.
func (c *Conn) fewAnswers() bool { return c.needAnswers().budget.few(c.BytesOut, c.end()) }

// Arrived completes the oldest transmitted operation that waits for the peer's acknowledgement (Send.Ack). It is
// for transports that learn of the arrival without a message of the peer. A connection must not use both. It may be
// called while a message of the peer is partly received.
func (c *Conn) Arrived() {
	if op := c.acks.pop(); op != nil {
		c.finish(op)
	}
}

// Unpause continues after a pause. The connection may pause again at once.
func (c *Conn) Unpause() {
	if c.in.stall == stallRefused {
		c.resume()
	}
}

// AnnouncedSend returns the message that an OpExt announced with this index, or nil. Its buffers are borrowed until
// SendFetched.
func (c *Conn) AnnouncedSend(index uint8) *TxOp { return c.rdv.announced(index) }

// SendFetched completes a message from AnnouncedSend.
func (c *Conn) SendFetched(index uint8, err error) {
	if op := c.rdv.withdraw(&c.pool.tablePool, index); op != nil {
		c.finishErr(op, err)
	}
}

// TakeRequest returns the oldest read or atomic operation that it has not returned before, or nil. They come in the
// order of the stream. The buffers of a read, and those for the result of an atomic operation, are borrowed until
// RequestDone.
func (c *Conn) TakeRequest() *TxOp {
	op := c.reads.pop()
	if op != nil {
		c.oob().asked.push(op)
	}
	return op
}

// RequestDone completes an operation from TakeRequest.
func (c *Conn) RequestDone(op *TxOp, err error) {
	if c.oob().answered(op) { // otherwise the connection has ended
		c.finishRead(op, err)
	}
}

// Fetched completes a receive that the Fetcher had to fetch.
func (c *Conn) Fetched(slot int, err error) {
	op := c.oob().fetched(slot)
	switch {
	case op == nil: // the connection has ended
	case err != nil:
		c.rx.finishErr(op, err)
	default:
		c.BytesIn += min(op.msgLen, op.size())
		c.rx.finish(op)
	}
}

// BeginClose prepares an orderly end from our side. Operations of which nothing has left are withdrawn, unless they
// are complete for the application, and ExtEnd goes behind the rest. The driver transmits until the peer has what
// is Due, and then calls Drop.
func (c *Conn) BeginClose() {
	for c.cancel(func(op *TxOp) bool { return !op.promised() }) {
	}
	g := &c.needExt().goodbye
	if g.owed = owedAll; c.state == Connected && c.waiting.head == nil {
		g.owed = c.out.promisedEnd(c.BytesOut)
	}
	c.SayEnd(true)
	if g.all = owedAll; g.owed != owedAll {
		g.all = c.end()
	}
}

// Due is, after BeginClose, the position in our stream up to which the peer must have it before the transport is
// closed. BytesOut is the position that the transport has taken. With all it includes answers that were queued by
// then, and ExtEnd.
func (c *Conn) Due(all bool) uint64 {
	if c.ext == nil {
		return c.end()
	}
	return c.ext.goodbye.due(all, c.end())
}

// Promised reports, after BeginClose, whether something that is Due waits for transmission.
func (c *Conn) Promised(all bool) bool {
	if c.state >= Broken {
		return false
	}
	if c.state == Connected && c.BytesOut < c.Due(all) {
		return true
	}
	for op := range c.waiting.all {
		if op.promised() {
			return true
		}
	}
	return false
}
