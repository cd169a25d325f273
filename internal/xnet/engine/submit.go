package engine

import "gofabric/internal/xnet/wire"

// Submit posts an operation. Small ones are staged at once and complete here; others complete when transmitted, acknowledged or answered. Before
// the connection is up, operations wait for it. ErrAgain: too many are under way; receive and transmit first.
func (c *Conn) Submit(s *Send) error {
	if c.state == Connected && s.Kind == KindSend && !s.Ack && !s.Commit && !s.Fence && c.waiting.head == nil {
		if n := s.Len(); (n <= c.cfg.StageMax || s.Inject) && !c.wantsRendezvous(s) {
			if c.out.queued >= c.cfg.StageLimit {
				return ErrAgain
			}
			c.MsgsOut++
			if s.NIOV == 1 && !s.HasData && c.join(s.IOV[0], s.Tagged, s.Tag) {
				c.sink.Sent(s)
				return nil
			}
			h := &c.pool.scratch
			c.sendHeader(h, s, n)
			c.stageMessage(h, s, nil)
			c.beginRun(h, n)
			c.sink.Sent(s)
			return nil
		}
	}
	return c.submitSlow(s)
}

// submitSlow posts what needs an operation of its own.
func (c *Conn) submitSlow(s *Send) error {
	if c.state == Closed {
		return ErrState
	}
	if c.state == Broken {
		op := c.pool.getTx()
		op.Send = *s
		if s.Atomic != nil { // the driver's stays the driver's: the pool keeps the operation's
			op.Atomic = c.pool.getAtomic(s.Atomic)
		}
		c.ops++
		c.finishErr(op, c.reason(ErrPeerClose))
		return nil
	}
	if (int(c.ops) >= c.cfg.TxDepth || c.out.queued >= c.cfg.StageLimit) && !s.aborts() {
		return ErrAgain
	}
	if s.Kind >= KindAtomic && s.Kind != KindColl {
		if err := s.checkAtomic(); err != nil {
			return err
		}
	}
	op := c.pool.getTx()
	op.Send, op.context = *s, c.aimed
	if s.Atomic != nil {
		op.Atomic = c.pool.getAtomic(s.Atomic)
	}
	c.ops++
	if c.state != Connected || c.waiting.head != nil || (s.Fence || s.Atomic != nil) && !c.may(op, int(c.ops)-1) {
		c.hold(op)
		return nil
	}
	if (c.wantsPull(s) || c.wantsRendezvous(s)) && c.rtsIndex() == 0 {
		c.ops--
		c.pool.putTx(op)
		return ErrAgain
	}
	c.launch(op)
	return nil
}

// launch queues an operation for transmission; the connection is up.
func (c *Conn) launch(op *TxOp) {
	if op.context != c.aim && !c.turnTo(op.context) {
		c.finishErr(op, ErrUnsupported)
		return
	}
	c.MsgsOut++
	h := &c.pool.scratch
	n := op.Send.Len()
	if !c.carries(op) {
		c.finishErr(op, ErrUnsupported)
		return
	}
	switch op.Kind {
	case KindRead:
		*h = wire.Header{Op: wire.OpReadReq, IovCnt: uint8(op.NRMA), IOV: op.RMA}
		h.SetPayload(0)
		c.stageHeader(h, nil, false)
		c.reads.push(op)
		return
	case KindAtomic, KindFetch, KindCompare:
		c.launchAtomic(op, h, n)
		return
	case KindColl:
		if !c.launchColl(op, h, n) {
			return
		}
	case KindWrite:
		*h = wire.Header{Op: wire.OpWrite, IovCnt: uint8(op.NRMA), IOV: op.RMA, CQData: op.Data}
		c.setFlags(h, &op.Send)
		h.SetPayload(uint64(n))
	default:
		if c.wantsPull(&op.Send) && c.refer(op) {
			return
		}
		if c.wantsRendezvous(&op.Send) {
			if c.requestToSend(op, h, n) {
				return
			}
		}
		c.sendHeader(h, &op.Send, n)
		if op.Match {
			c.expectMatch(op)
		}
	}
	c.queuePayload(h, op, n)
}

// queuePayload queues h and op's payload: together in a chunk when small, else the payload from where it is.
func (c *Conn) queuePayload(h *wire.Header, op *TxOp, n int) {
	if n <= c.cfg.StageMax || op.Inject || op.Copy {
		c.stageMessage(h, &op.Send, op)
		return
	}
	c.stageHeader(h, op, false)
	last := op.NIOV - 1
	for last > 0 && len(op.IOV[last]) == 0 {
		last--
	}
	for i, b := range op.IOV[:last+1] {
		if len(b) > 0 {
			c.lend(b, op, i == last)
		}
	}
}

// sendHeader fills in the header of an untagged or tagged message of n bytes.
func (c *Conn) sendHeader(h *wire.Header, s *Send, n int) {
	h.Op, h.Flags, h.OpData, h.IovCnt = wire.OpMsg, 0, 0, 0
	if s.Tagged {
		h.Op, h.Tag = wire.OpTag, s.Tag
	}
	h.CQData = s.Data
	c.setFlags(h, s)
	h.SetPayload(uint64(n))
}

func (c *Conn) setFlags(h *wire.Header, s *Send) {
	if s.HasData {
		h.Flags |= wire.FlagCQData
	}
	if s.Match {
		h.Flags |= wire.FlagMatch
	} else if s.Ack {
		h.Flags |= wire.FlagDelivery
	}
	if s.Commit {
		h.Flags |= wire.FlagCommit
	}
}

// stageMessage copies header and payload into a chunk.
func (c *Conn) stageMessage(h *wire.Header, s *Send, op *TxOp) {
	t := c.chunkFor(wire.MaxHeader + s.Len())
	from := len(t.b)
	t.b = c.appendHeader(t.b, h)
	for _, b := range s.IOV[:s.NIOV] {
		t.b = append(t.b, b...)
	}
	c.staged(t, from, op, true)
}

func (c *Conn) stageHeader(h *wire.Header, op *TxOp, last bool) {
	t := c.chunkFor(wire.MaxHeader)
	from := len(t.b)
	t.b = c.appendHeader(t.b, h)
	c.staged(t, from, op, last)
}

// appendHeader numbers the header, as native's debug builds check.
func (c *Conn) appendHeader(b []byte, h *wire.Header) []byte {
	h.ID = c.txID
	c.txID++
	return h.Append(b, c.order)
}

// MaxInject is the largest inject that stageMessage can take.
const MaxInject = chunkSize - wire.MaxHeader

// wantsRendezvous says whether a message asks before it sends: its buffer has to stay until the peer answers.
func (c *Conn) wantsRendezvous(s *Send) bool {
	return c.Rendezvous && s.Kind == KindSend && s.Tagged && !s.Inject && !s.Copy && uint64(s.Len()) > c.cfg.RendezvousOver
}

// requestToSend announces a tagged message; its data follows when the peer has matched it. False: no index is free, so send it eagerly.
func (c *Conn) requestToSend(op *TxOp, h *wire.Header, n int) bool {
	i := c.rtsIndex()
	if i == 0 {
		return false
	}
	op.Match = false // its data goes to the receive that asked for it: that it is there, which Ack asks, says that it is matched
	*h = wire.Header{Op: wire.OpTagRTS, OpData: i, Tag: op.Tag, CQData: op.Data, MsgSize: uint64(n)}
	c.setFlags(h, &op.Send)
	h.SetPayload(0)
	c.table().announce(i, op)
	op.started = true
	c.stageHeader(h, nil, false)
	return true
}

// clearedToSend transmits the data of a message that the peer asked for.
func (c *Conn) clearedToSend(i uint8) {
	op := c.announced(i)
	if op == nil {
		c.Fail(ErrProtocol)
		return
	}
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpData, OpData: i}
	c.setFlags(h, &op.Send)
	h.SetPayload(uint64(op.Send.Len()))
	c.queuePayload(h, op, op.Send.Len())
}

// clearToSend asks for the data of a rendezvous that op was matched with.
func (c *Conn) clearToSend(op *RxOp, i uint8) {
	if c.state == Broken {
		c.rx.finishErr(op, c.reason(ErrPeerClose))
		return
	}
	if c.state != Connected {
		c.rx.finishErr(op, ErrProtocol)
		c.Fail(ErrProtocol)
		return
	}
	c.table().ask(i, op)
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpCTS, OpData: i}
	h.SetPayload(0)
	c.answer(h)
}

// acknowledge tells the peer that a message of its is where it belongs. Acknowledgements are matched in order.
func (c *Conn) acknowledge() {
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpMsg, OpData: wire.OpDataAck}
	h.SetPayload(0)
	c.answer(h)
}
