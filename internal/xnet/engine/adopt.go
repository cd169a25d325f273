package engine

// Sends, messages, sources and receive contexts that change hands while connections go on.

// Shut closes a context of a group whose connections go on: receives end without completion and their buffers are the
// caller's again; messages for the context are dropped, now and later. each yields the connections of the endpoint.
func (rx *RxContext) Shut(each func(yield func(*Conn) bool)) {
	rx.closed = true
	for c := range each {
		c.discardFor(rx)
	}
	rx.shut()
}

// discardFor keeps c from writing to receives of rx.
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

// SetSource gives c and all of its messages that are still unexpected their source, which the address vector has only
// now learned. Receives that wait for this source take theirs.
func (rx *RxContext) SetSource(c *Conn, src uint64) {
	c.Src = src
	for r := range rx.all {
		r.setSource(&c.source, src)
	}
}

// DiscardColl drops the unexpected messages of collective operations that f accepts; their connections may have an
// answer to transmit then.
func (rx *RxContext) DiscardColl(f func(c *Conn, tag uint64) bool) {
	rx.discardColl(func(feed feeder, tag uint64) bool { return f(feed.(*Conn), tag) })
}

// Adopt takes over the sends that wait for from to come up: the peer has connected to us meanwhile, or another attempt
// is worth it. It may be called from Sink.Failed of from.
func (c *Conn) Adopt(from *Conn) {
	if c.state == Closed {
		return
	}
	if from.expected > 0 {
		c.expected, from.expected = c.expected+from.expected, 0
		if u := c.rx.collector(); u != nil {
			u.Moved(from, c)
		}
		if c.LacksCollectives() {
			c.lose(ErrUnsupported)
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

// AdoptMessages takes over the messages of from's that still wait for a receive, all of them here: both are connections
// to one peer.
func (c *Conn) AdoptMessages(from *Conn) {
	if from.unexpCount == 0 || from.rx == nil {
		return
	}
	for rx := range from.rx.all {
		rx.inherit(&from.source, &c.source, c)
	}
}
