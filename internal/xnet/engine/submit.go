package engine

import "gofabric/internal/xnet/wire"

// MaxInject is the largest inject that fits into a chunk, in bytes (fi_inject(3)).
const MaxInject = chunkSize - wire.MaxHeader

// Submit posts an operation. A small send is copied and complete at once. Others complete when they are
// transmitted, acknowledged or answered. Before the connection is up operations wait for it. ErrAgain means that
// too many are under way: the caller receives and transmits first.
func (c *Conn) Submit(s *Send) error {
	if c.state == Connected && s.Kind == KindSend && !s.Ack && !s.Commit && !s.Fence && c.waiting.head == nil {
		// The path of small messages: no operation is made for them.
		if n := s.Len(); (n <= c.cfg.StageMax || s.Inject) && !c.wantsRendezvous(s) {
			if c.out.queued >= c.cfg.StageLimit {
				return ErrAgain
			}
			c.MsgsOut++
			// It may join the message before it, and needs no header of its own.
			if s.NIOV == 1 && !s.HasData && c.out.join(&c.pool.stagePool, s.IOV[0], s.Tagged, s.Tag) {
				c.completions.Sent(s)
				return nil
			}
			h := &c.pool.scratch
			sendHeader(h, s, n)
			c.stageMessage(h, s, nil)
			// Only gofabric peers have coalesced messages.
			if c.Ours {
				c.out.openCoalesced(&c.pool.stagePool, h, n)
			}
			c.completions.Sent(s)
			return nil
		}
	}
	return c.submitSlow(s)
}

// Join sends a message that has nothing but its tag, if it can join the coalesced message that is open on c. It is
// complete then, buf is the caller's again, and no sink is called. The driver need not transmit while
// batch.Stream.Admits says so.
func (c *Conn) Join(buf []byte, tagged bool, tag uint64) bool {
	if !c.out.join(&c.pool.stagePool, buf, tagged, tag) {
		return false
	}
	c.MsgsOut++
	return true
}

// submitSlow posts an operation that may have to wait.
func (c *Conn) submitSlow(s *Send) error {
	switch {
	case c.state == Closed:
		return ErrState
	// The completion tells why, as it would for an operation posted before.
	case c.state == Broken:
		op := c.pool.newTx(s)
		c.ops++
		c.finishErr(op, c.reason(ErrPeerClose))
		return nil
	case (int(c.ops) >= c.cfg.TxDepth || c.out.queued >= c.cfg.StageLimit) && !s.aborts():
		return ErrAgain
	}
	if s.Kind >= KindAtomic && s.Kind != KindColl {
		if err := s.checkAtomic(); err != nil {
			return err
		}
	}
	op := c.pool.newTx(s)
	// SelectContext was for this operation.
	op.context = c.nextContext
	c.ops++
	if c.state != Connected || c.waiting.head != nil || (s.Fence || s.Atomic != nil) && !c.mayLaunch(op, int(c.ops)-1) {
		c.hold(op)
		return nil
	}
	// Without a free index the post is repeated by the application, so that a later message does not overtake this
	// one.
	if (c.wantsSingleCopy(s) || c.wantsRendezvous(s)) && c.rdv.freeIndex() == 0 {
		c.ops--
		c.pool.putTx(op)
		return ErrAgain
	}
	c.launch(op)
	return nil
}

// SubmitColl posts a step of a collective operation. s.Kind is KindColl, Tag and Data are as in wire.OpColl, and
// there is an Owner. If copied, the step is complete and its end is not reported. A step with wire.CollAbort always
// finds room: there is at most one for each group and member.
func (c *Conn) SubmitColl(s *Send) (copied bool, err error) {
	n := s.Len()
	if c.state != Connected || c.waiting.head != nil || n > c.cfg.StageMax {
		return false, c.submitSlow(s)
	}
	if !c.Ours {
		return false, ErrUnsupported
	}
	if c.out.queued >= c.cfg.StageLimit && !s.aborts() {
		return false, ErrAgain
	}
	c.MsgsOut++
	if c.atContext != 0 {
		c.turnTo(0) // where collectives are matched
	}
	h := &c.pool.scratch
	collHeader(h, s.Tag, s.Data, n)
	c.stageMessage(h, s, nil)
	return true, nil
}

// RefuseColl answers a step that came on c and was discarded (DiscardColl), because its group is not known here.
func (c *Conn) RefuseColl(tag uint64) {
	h := &c.pool.scratch
	collHeader(h, tag, wire.CollAbort, 0)
	c.answer(h)
}

// SelectContext directs the operation that is posted next, and only that one, to receive context i of the peer
// (group.go). It reports false if the peer is known to have no named contexts. The operation may be posted all the
// same, with Send.Ack, and ends with ErrUnsupported.
func (c *Conn) SelectContext(i uint8) bool {
	c.nextContext = i
	if i == c.atContext || c.state != Connected || c.waiting.head != nil || c.out.queued >= c.cfg.StageLimit {
		return true // launch does it, or Submit refuses the operation
	}
	return c.turnTo(i)
}

// turnTo directs the stream to the peer's context i. It returns false if the peer has no named contexts.
func (c *Conn) turnTo(i uint8) bool {
	if !c.Ours {
		return false
	}
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpContext, OpData: i}
	h.SetPayload(0)
	c.stageHeader(h, nil)
	c.atContext = i
	return true
}
