package engine

import "gofabric/internal/xnet/wire"

// Named receive contexts (FI_NAMED_RX_CTX, fi_getinfo(3)): the peer's endpoint may have several, and the sender says which one an operation is for. The
// stream is at one of them, at first at context 0; wire.OpContext moves it to another. So naming costs a header when the destination changes, and nothing
// where nobody names contexts. What is announced (rendezvous, single copy) is matched when the announcement comes; its data is not for a context.

// MaxContexts is the most receive contexts that a group can have.
const MaxContexts = 256

// Group makes list the receive contexts of one endpoint, of which peers choose by index. Connections are made with the first. All must collect their
// completions (Collect), for a connection is not of one context. At most MaxContexts, before there are connections.
func Group(list []*RxContext) {
	for i, rx := range list {
		rx.group, rx.index, rx.Collect = list, uint8(i), true
	}
}

// all yields the contexts of rx' group, or rx alone.
func (rx *RxContext) all(yield func(*RxContext) bool) {
	if rx.group == nil {
		yield(rx)
		return
	}
	for _, r := range rx.group {
		if !yield(r) {
			return
		}
	}
}

// sinkFor returns who is told of the ends of receives here whose message came over a connection with sink s.
func (rx *RxContext) sinkFor(s Sink) Sink {
	if !rx.Collect {
		return s
	}
	if k, ok := s.(Knower); ok {
		return k.Over(rx.Sink)
	}
	return rx.Sink
}

// Knower is a connection's Sink that has something to say of the peer where the ends of receives are told to another one. Over returns s with that said first.
type Knower interface{ Over(s Sink) Sink }

// Aim directs the operation that is posted next, and only that one, at receive context i of the peer: who aims once at a connection must do so before each
// Submit. It reports false if the peer is known to have no named contexts; the operation can be posted all the same, with Send.Ack, and ends with
// ErrUnsupported.
func (c *Conn) Aim(i uint8) bool {
	c.aimed = i
	if i == c.aim || c.state != Connected || c.waiting.head != nil || c.out.queued >= c.cfg.StageLimit {
		return true // launch does it, or Submit refuses
	}
	return c.turnTo(i)
}

// turnTo moves the stream to the peer's context i; false: it has no named contexts.
func (c *Conn) turnTo(i uint8) bool {
	if !c.Ours {
		return false
	}
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpContext, OpData: i}
	h.SetPayload(0)
	c.stageHeader(h, nil, false)
	c.aim = i
	return true
}

// chooseContext moves the peer's stream to our context i. One that we do not have ends the connection: what follows has nowhere to go, and small messages are
// complete at the sender already, so that the end of the connection is the only way to tell.
func (c *Conn) chooseContext(i uint8) {
	g := c.rx.group
	switch {
	case !c.Ours || int(i) >= max(len(g), 1):
		c.Fail(ErrProtocol)
	case g != nil:
		c.rx = g[i]
	}
}

// accessed reports a peer's access to memory (pool.done), which counts for the context that the peer's stream was at.
func (c *Conn) accessed(context uint8) {
	sink := c.sink
	if g := c.rx.group; g != nil {
		sink = g[context].sinkFor(sink)
	}
	sink.Completed(&c.pool.done)
}

// dropMessage lets a payload of n bytes go nowhere.
func (c *Conn) dropMessage(n uint64) {
	in := c.expect(inDiscard, n)
	in.hasAck = c.pool.hdr.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	if c.pool.hdr.Flags&wire.FlagMatch != 0 {
		c.tellMatched(c.nextMatch())
	}
	if n == 0 {
		c.endPayload()
	}
}

// dropQueued takes m out of q and lets it go nowhere.
func (rx *RxContext) dropQueued(q *queue, m *message) {
	q.RemoveMsg(&m.node)
	rx.discard(m)
}

// Shut closes a context of a group whose connections go on: receives end without completion and their buffers are the caller's again; what has come for the
// context and what comes later is dropped. each yields the connections of the endpoint.
func (rx *RxContext) Shut(each func(yield func(*Conn) bool)) {
	rx.closed = true
	for c := range each {
		c.leave(rx)
	}
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for m := range q.EachMsg() { // who waits for a match, or to be asked for data, learns that it is over
			rx.dropQueued(q, m.Value)
		}
	}
	rx.Release()
	rx.resume()
}

// Reopen undoes Shut.
func (rx *RxContext) Reopen() { rx.closed = false }

// leave keeps c from writing to receives of rx.
func (c *Conn) leave(rx *RxContext) {
	if in := c.in; in != nil && in.kind == inRecv && in.op.sink == rx.Sink {
		in.op.discarded = true
		in.i, in.n = 0, 0 // no room: absorb drops what comes
		clear(in.segs[:])
	}
	if c.fetches(rx) {
		c.Fail(ErrClosed) // see Disown
		return
	}
	if c.rdv == nil {
		return
	}
	for _, op := range c.rdv.cts {
		if op != nil && op.sink == rx.Sink {
			op.buf = nil
			clear(op.rest[:])
			op.niov, op.discarded = 0, true
		}
	}
}
