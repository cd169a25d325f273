package engine

import (
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// launch queues an operation on a connection that is up. It decides how it travels: in the stream, announced for a
// rendezvous, or for single copy.
func (c *Conn) launch(op *TxOp) {
	// The stream must be at the operation's receive context (group.go).
	if op.context != c.atContext && !c.turnTo(op.context) {
		c.finishErr(op, ErrUnsupported)
		return
	}
	c.MsgsOut++
	h := &c.pool.scratch
	n := op.Send.Len()
	// The promise of the completion level could not be kept.
	if !c.hasLevel(op) {
		c.finishErr(op, ErrUnsupported)
		return
	}
	switch op.Kind {
	// The buffers wait in the list for the answer.
	case KindRead:
		*h = wire.Header{Op: wire.OpReadReq, IovCnt: uint8(op.NRMA), IOV: op.RMA}
		h.SetPayload(0)
		c.stageHeader(h, nil)
		c.reads.push(op)
		return
	case KindAtomic, KindFetch, KindCompare:
		c.launchAtomic(op, h, n)
		return
	case KindColl:
		if !c.Ours {
			c.finishErr(op, ErrUnsupported)
			return
		}
		// A large step may go by single copy like a message.
		if c.wantsSingleCopy(&op.Send) && c.announce(op) {
			return
		}
		collHeader(h, op.Tag, op.Data, n)
	case KindWrite:
		*h = wire.Header{Op: wire.OpWrite, IovCnt: uint8(op.NRMA), IOV: op.RMA, CQData: op.Data}
		setFlags(h, &op.Send)
		h.SetPayload(uint64(n))
	default:
		if c.wantsSingleCopy(&op.Send) && c.announce(op) || c.wantsRendezvous(&op.Send) && c.requestToSend(op, h, n) {
			return
		}
		sendHeader(h, &op.Send, n)
		// The peer will report the match with this number.
		if op.Match {
			c.needExt().matches.expect(op)
		}
	}
	c.queuePayload(h, op, n)
}

// hasLevel reports whether the peer supports the completion level of op (fi_cq(3), "Completion Semantics"). Native
// peers do not have FI_MATCH_COMPLETE. They acknowledge persistence on a connection of their own, but the packets
// of a gateway have no field for the request.
func (c *Conn) hasLevel(op *TxOp) bool {
	return (!op.Match || c.Ours) && (!op.Commit || c.Ours || !c.Extended && c.oob() == nil)
}

// sendHeader makes the header of a message of n bytes.
func sendHeader(h *wire.Header, s *Send, n int) {
	h.Op, h.Flags, h.OpData, h.IovCnt = wire.OpMsg, 0, 0, 0
	if s.Tagged {
		h.Op, h.Tag = wire.OpTag, s.Tag
	}
	h.CQData = s.Data
	setFlags(h, s)
	h.SetPayload(uint64(n))
}

// setFlags sets the flags of a header as the options of s demand.
func setFlags(h *wire.Header, s *Send) {
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

// collHeader makes the header of a step of a collective operation.
func collHeader(h *wire.Header, tag, member uint64, n int) {
	h.Op, h.Flags, h.OpData, h.IovCnt = wire.OpColl, 0, 0, 0
	h.Tag, h.CQData = tag, member
	h.SetPayload(uint64(n))
}

// wantsRendezvous reports whether a message is announced and sent when the peer asks for it. Its buffer must stay
// valid until then, so an inject is not.
func (c *Conn) wantsRendezvous(s *Send) bool {
	return c.Rendezvous && s.Kind == KindSend && s.Tagged && !s.Inject && !s.Copy && uint64(s.Len()) > c.cfg.RendezvousOver
}

// requestToSend announces a tagged message, whose data follows when the peer has matched it. It returns false if no
// index is free; the message is then sent eagerly.
func (c *Conn) requestToSend(op *TxOp, h *wire.Header, n int) bool {
	i := c.rdv.freeIndex()
	// All indices are in use.
	if i == 0 {
		return false
	}
	op.Match = false // the data goes to the receive that asked for it, so the acknowledgement implies the match
	*h = wire.Header{Op: wire.OpTagRTS, OpData: i, Tag: op.Tag, CQData: op.Data, MsgSize: uint64(n)}
	setFlags(h, &op.Send)
	h.SetPayload(0)
	c.rdv.announce(&c.pool.tablePool, i, op)
	op.started = true
	c.stageHeader(h, nil)
	return true
}

// wantsSingleCopy reports whether a message is only announced, and the peer or the transport fetches it. The first
// message that could go by single copy starts the agreement with the peer (cma.go), and itself goes through the
// connection.
func (c *Conn) wantsSingleCopy(s *Send) bool {
	if y := c.oob(); y != nil {
		return y.carries(s)
	}
	if !c.canSingleCopy() || s.Kind != KindSend && s.Kind != KindColl || s.Inject || s.Copy ||
		s.Len() < c.cfg.CMAOver || s.Len() > cmaMax {
		return false
	}
	x := c.needExt()
	// This message starts the agreement, and is not announced itself.
	if hello := x.cma.ask(c.cfg.CMA, c.Way, x.out[:0]); hello != nil {
		c.stageExt(hello)
	}
	return x.cma.peerCopies
}

// canSingleCopy reports whether single copy is possible on this connection: both ends seal messages and prove which
// process they are.
func (c *Conn) canSingleCopy() bool {
	const both = wire.FeatureSeals | wire.FeatureShow
	return c.Ours && c.Agreed&both == both && c.cfg.CMA != nil && c.Way != nil
}

// announce announces a message that is fetched. It returns false if no index is free; the message is then sent
// eagerly.
func (c *Conn) announce(op *TxOp) bool {
	i := c.rdv.freeIndex()
	if i == 0 {
		return false
	}
	x := c.needExt()
	r := &x.ref
	*r = wire.Ref{
		Index: i, Tagged: op.Tagged, HasData: op.HasData, Match: op.Match, Coll: op.Kind == KindColl,
		Tag: op.Tag, CQData: op.Data, Size: uint64(op.Send.Len()),
	}
	c.rdv.announce(&c.pool.tablePool, i, op)
	// Single copy: the ranges in this process, and the seal. Otherwise the transport knows the buffers by the
	// index.
	if x.oob == nil {
		by := c.cfg.CMA
		for _, b := range op.IOV[:op.NIOV] {
			if len(b) > 0 {
				r.IOV[r.N] = wire.RMAIov{Addr: by.Address(b), Len: uint64(len(b))}
				r.N++
			}
		}
		// Sealed before the announcement leaves.
		s := c.rdv.t.becomeSealed(by.NewSeals, i, &x.cma.cell)
		r.Number, r.SealAt = s.number, s.at
	}
	op.started = true
	c.stageExt(r.Append(x.out[:0]))
	return true
}

// launchAtomic queues an atomic operation with n bytes of operands. One without a result is transmitted and
// completes like a write. The results of the others come in the order of all answers.
func (c *Conn) launchAtomic(op *TxOp, h *wire.Header, n int) {
	a := op.Atomic
	compare := a.Compare[:a.NCompare]
	oob := c.oob() != nil
	most := c.cfg.AtomicMax
	switch {
	case !c.Extended:
		c.finishErr(op, ErrUnsupported)
		return
	// A gateway has one packet for the operation.
	case most > 0 && uint64(n)+sum(compare) > uint64(most):
		c.finishErr(op, ErrTooLong)
		return
	// Rxm has no remote CQ data with atomic operations.
	case c.cfg.NativeAtomics && !atomics.Native(a.Type, a.Op), oob && op.HasData:
		c.finishErr(op, ErrUnsupported)
		return
	}
	*h = wire.Header{
		Op: atomicOps[op.Kind-KindAtomic].op, OpData: uint8(a.Type), Atomic: uint8(a.Op), IovCnt: uint8(op.NRMA), IOV: op.RMA,
	}
	if op.Kind == KindAtomic && !oob {
		h.CQData = op.Data
		setFlags(h, &op.Send)
		h.SetPayload(uint64(n))
		c.queuePayload(h, op, n)
		return
	}
	if op.Commit {
		h.Flags |= wire.FlagCommit
	}
	// No operands.
	if a.Op == atomics.Read {
		n, op.NIOV = 0, 0
	}
	// The driver may have left old comparands.
	if op.Kind != KindCompare {
		compare = nil
	}
	n += int(sum(compare))
	h.SetPayload(uint64(n))
	t := c.room(wire.MaxHeader + n)
	from := len(t.b)
	t.b = join(join(c.appendHeader(t.b, h), op.IOV[:op.NIOV]), compare)
	c.staged(t, from, nil, false)
	c.fetching += uint32(a.resultLen())
	c.reads.push(op)
}
