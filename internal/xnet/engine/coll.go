package engine

import "gofabric/internal/xnet/wire"

// Messages of collective operations (wire.OpColl) go between peers of this module only. They are matched apart from the application's, by tag and by the member
// that they come from, and count against the same budget while nobody expects them. What they mean is the Collector's to know.

// Collector knows the groups of an endpoint. Its methods must not call the engine.
type Collector interface {
	// Wanted says of a message that nobody expects yet whether it is worth keeping. If not, the sender is told that the group is given up.
	Wanted(tag, member uint64) bool
	// Aborted says that the peer, which is src, has given up the group of tag; member is as of wire.CollAbort.
	Aborted(tag, member, src uint64)
	// Moved says that what was expected on from comes on to: two connects met, or another was tried.
	Moved(from, to *Conn)
	// Lost says that what is expected on a connection (SetExpected) will not come.
	Lost(c *Conn, err error)
}

// collectives is the part of a receive context for them.
type collectives struct {
	q    queue
	user Collector
}

// SetCollector makes the context one that knows collective operations.
func (rx *RxContext) SetCollector(u Collector) { rx.coll = &collectives{user: u} }

// NewColl returns a receive for PostColl. It does not count against Depth: the Collector bounds what it expects.
func (rx *RxContext) NewColl() *RxOp { return rx.pool.getRx() }

// PostColl expects a message. op needs an Owner, whom Done tells of the end. src is the source of the member's connections, AnySource if that is not known: nobody else
// may speak for it. ignore is the bits of the tag that do not matter.
func (rx *RxContext) PostColl(op *RxOp, tag, member, src, ignore uint64) {
	q := &rx.coll.q
	op.node.Src, op.node.Tag, op.node.Ignore = member, tag, ignore
	op.src = src
	for q.Unexpected() > 0 {
		m := q.Take(member, tag, ignore)
		if m == nil {
			break
		}
		if op.from(m.Value.owner) {
			rx.deliver(op, m.Value)
			return
		}
		rx.discard(m.Value)
	}
	q.Post(&op.node)
}

// from says whether c's peer may be whom op expects a message of.
func (op *RxOp) from(c *Conn) bool {
	return c == nil || op.src == AnySource || c.Src == AnySource || op.src == c.Src
}

// CancelColl forgets what owner expects and has not begun to come: f is told the Ctx of each receive, which has no other end.
func (rx *RxContext) CancelColl(owner Owner, f func(ctx uint64)) {
	q := &rx.coll.q
	for r := range q.EachPosted() {
		if op := r.Value; op.Owner == owner {
			q.Remove(r)
			f(op.Ctx)
			rx.pool.putRx(op)
		}
	}
}

// DiscardColl drops the messages that nobody has expected and f accepts; their connections may have an answer to transmit then.
func (rx *RxContext) DiscardColl(f func(c *Conn, tag uint64) bool) {
	q := &rx.coll.q
	for m := range q.EachMsg() {
		if f(m.Value.owner, m.Tag) {
			q.RemoveMsg(m)
			rx.discard(m.Value)
		}
	}
}

// releaseColl is Release for them.
func (rx *RxContext) releaseColl() {
	if rx.coll == nil {
		return
	}
	q := &rx.coll.q
	for r := range q.EachPosted() {
		q.Remove(r)
		rx.pool.putRx(r.Value)
	}
	for m := range q.EachMsg() {
		q.RemoveMsg(m)
		rx.forget(m.Value)
	}
}

// dropColl removes what c's end leaves without hope. Who has left does not join, so that such messages go, too.
func (rx *RxContext) dropColl(c *Conn) {
	if rx.coll == nil {
		return
	}
	q := &rx.coll.q
	for n := range q.EachMsg() {
		if m := n.Value; m.conn == c || m.owner == c && n.Tag&wire.CollJoin != 0 {
			q.RemoveMsg(n)
			rx.forget(m)
		}
	}
}

// dropJoin drops what c's peer has sent as member for joining a group and takes back: it may try again. What others have sent with the same tag, who
// cannot know it, hides what is behind it.
func (rx *RxContext) dropJoin(c *Conn, tag, member uint64) {
	if tag&wire.CollJoin == 0 {
		return
	}
	q := &rx.coll.q
	for q.Unexpected() > 0 {
		n := q.Peek(member, tag, 0)
		if n == nil || n.Value.owner != c {
			return
		}
		q.RemoveMsg(n)
		rx.discard(n.Value)
	}
}

// SetExpected says how many messages a Collector waits for from this peer, so that the peer's silence and its end are noticed.
func (c *Conn) SetExpected(n int) { c.expected = int32(n) }

// Expecting reports whether that is any.
func (c *Conn) Expecting() bool { return c.expected > 0 }

// Unsuited says that c's peer is known not to understand collective operations.
func (c *Conn) Unsuited() bool { return c.state == Connected && !c.Ours }

// lose tells the Collector that nothing more comes.
func (c *Conn) lose(err error) {
	if c.expected == 0 || c.rx == nil {
		return
	}
	c.expected = 0
	if u := c.rx.collector(); u != nil {
		u.Lost(c, err)
	}
}

// collector returns the Collector of the endpoint that the context is of, nil if there is none.
func (rx *RxContext) collector() Collector {
	for r := range rx.all {
		if r.coll != nil {
			return r.coll.user
		}
	}
	return nil
}

// SubmitColl posts a step of a collective operation: s.Kind is KindColl, Tag and Data as of wire.OpColl, and there is an Owner. copied: the step is as good as
// done, and nobody is told. That a group is given up (wire.CollAbort) always finds room: there is one of these for each group and member at most.
func (c *Conn) SubmitColl(s *Send) (copied bool, err error) {
	if n := s.Len(); c.state == Connected && c.waiting.head == nil && n <= c.cfg.StageMax {
		if !c.Ours {
			return false, ErrUnsupported
		}
		if c.out.queued >= c.cfg.StageLimit && !s.aborts() {
			return false, ErrAgain
		}
		c.MsgsOut++
		if c.aim != 0 {
			c.turnTo(0) // where collectives are
		}
		h := &c.pool.scratch
		collHeader(h, s.Tag, s.Data, n)
		c.stageMessage(h, s, nil)
		return true, nil
	}
	return false, c.submitSlow(s)
}

// aborts says whether s is the end of a group.
func (s *Send) aborts() bool { return s.Kind == KindColl && s.Data&wire.CollAbort != 0 }

// RefuseColl answers a step that came on c and was discarded (DiscardColl): its group is not known here.
func (c *Conn) RefuseColl(tag uint64) {
	h := &c.pool.scratch
	collHeader(h, tag, wire.CollAbort, 0)
	c.answer(h)
}

// launchColl fills in the header of a step; false if there is nothing more to be done with it.
func (c *Conn) launchColl(op *TxOp, h *wire.Header, n int) bool {
	if !c.Ours {
		c.finishErr(op, ErrUnsupported)
		return false
	}
	if c.wantsPull(&op.Send) && c.refer(op) {
		return false
	}
	collHeader(h, op.Tag, op.Data, n)
	return true
}

func collHeader(h *wire.Header, tag, member uint64, n int) {
	h.Op, h.Flags, h.OpData, h.IovCnt = wire.OpColl, 0, 0, 0
	h.Tag, h.CQData = tag, member
	h.SetPayload(uint64(n))
}

// startColl takes a step of a collective operation, whose header has come, and returns how much of b it took.
func (c *Conn) startColl(b []byte) int {
	h := &c.pool.hdr
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	c.MsgsIn++
	n := h.PayloadLen()
	if h.CQData&wire.CollAbort != 0 {
		if c.rx.coll != nil {
			c.rx.dropJoin(c, h.Tag, uint64(uint32(h.CQData)))
			c.rx.coll.user.Aborted(h.Tag, h.CQData, c.Src)
		}
		return 0
	}
	op, ok := c.matchColl(h.Tag, h.CQData)
	if !ok {
		return 0
	}
	if op != nil {
		return c.startRecv(op, n, h.Tag, b)
	}
	if !c.wantsColl(h.Tag, h.CQData) {
		if c.expect(inDiscard, n); n == 0 {
			c.endPayload()
		}
		return 0
	}
	c.keep(c.newCollMessage(n, h.Tag, h.CQData), n)
	return 0
}

func (c *Conn) newCollMessage(n, tag, member uint64) *message {
	q := &c.rx.coll.q
	m := c.newMessage(q, n, tag)
	q.SetSource(&m.node, member)
	return m
}

// matchColl finds who expects a step, nil if nobody does. A peer that speaks for another loses the connection: not ok.
func (c *Conn) matchColl(tag, member uint64) (op *RxOp, ok bool) {
	if c.rx.coll == nil {
		return nil, true
	}
	r := c.rx.coll.q.Match(member, tag)
	if r == nil {
		return nil, true
	}
	if op = r.Value; op.from(c) {
		return op, true
	}
	c.rx.coll.q.Post(r)
	c.Fail(ErrProtocol)
	return nil, false
}

// wantsColl asks what to do with a message that nobody expects; one that is not wanted is answered.
func (c *Conn) wantsColl(tag, member uint64) bool {
	if c.rx.coll != nil && c.rx.coll.user.Wanted(tag, member) {
		return true
	}
	c.RefuseColl(tag)
	return false
}

// referredColl takes a step by reference.
func (c *Conn) referredColl(r *wire.Ref) {
	op, ok := c.matchColl(r.Tag, r.CQData)
	if !ok {
		return
	}
	if op != nil {
		op.tag, op.src, op.msgLen, op.sink = r.Tag, c.Src, r.Size, c.sink
		op.hasData, op.ack = false, false
		c.pullInto(op, r.IOV[:r.N], r.Index, seal{r.SealAt, r.Number})
		return
	}
	if !c.wantsColl(r.Tag, r.CQData) {
		c.freeIndex(r.Index)
		c.answerExt(wire.ExtDone, r.Index)
		return
	}
	c.pool.hdr.Flags = 0
	c.keepReferred(c.newCollMessage(r.Size, r.Tag, r.CQData), r)
}
