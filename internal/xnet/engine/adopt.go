package engine

// Sends, messages, sources and receive contexts that move to another owner while connections continue.

// Shut closes a context of a group whose connections continue. Receives end without a completion, and their buffers
// are the caller's again. Messages for the context are dropped, now and later. each yields the connections of the
// endpoint.
func (rx *RxContext) Shut(each func(yield func(*Conn) bool)) {
	rx.closed = true
	for c := range each {
		c.discardFor(rx)
	}
	rx.shut()
}

// discardFor prevents c from writing to receives of rx.
func (c *Conn) discardFor(rx *RxContext) {
	if l := c.in.now; l != nil && l.kind == inRecv && l.op.sink == rx.Sink {
		l.op.discarded = true
		l.drop()
	}
	if c.oob().discardFor(rx.Sink) {
		c.Fail(ErrClosed) // see Disown
		return
	}
	c.rdv.discardFor(rx.Sink)
}

// SetSource sets the source of c and of all of its messages that are still unexpected, after its peer was inserted
// into the address vector. Receives that wait for this source take theirs.
func (rx *RxContext) SetSource(c *Conn, src uint64) {
	c.Src = src
	for r := range rx.all {
		r.setSource(&c.source, src)
	}
}

// DiscardColl drops the unexpected steps of collective operations that f accepts. Their connections may have an
// answer to transmit then.
func (rx *RxContext) DiscardColl(f func(c *Conn, tag uint64) bool) {
	rx.discardColl(func(feed feeder, tag uint64) bool { return f(feed.(*Conn), tag) })
}

// Adopt takes over the sends that wait for from to come up: the peer has connected to us in the meantime, or
// another attempt is made. It may be called from Sink.Failed of from.
func (c *Conn) Adopt(from *Conn) {
	if c.state == Closed {
		return
	}
	// Expected messages of collective operations will come here.
	if from.expected > 0 {
		c.expected, from.expected = c.expected+from.expected, 0
		if u := c.rx.collector(); u != nil {
			u.Moved(from, c)
		}
		if c.LacksCollectives() {
			c.notifyLost(ErrUnsupported)
		}
	}
	for op := range from.waiting.popAll {
		from.ops--
		from.waits--
		c.ops++
		c.hold(op)
	}
	c.release()
}

// AdoptMessages takes over the complete messages of from that still wait for a receive. Both are connections to the
// same peer.
func (c *Conn) AdoptMessages(from *Conn) {
	if from.unexpCount == 0 || from.rx == nil {
		return
	}
	for rx := range from.rx.all {
		rx.inherit(&from.source, &c.source, c)
	}
}
