package engine

import (
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// launch queues an operation for transmission; the connection is up.
func (c *Conn) launch(op *TxOp) {
	if op.context != c.atContext && !c.turnTo(op.context) {
		c.finishErr(op, ErrUnsupported)
		return
	}
	c.MsgsOut++
	h := &c.pool.scratch
	n := op.Send.Len()
	if !c.hasLevel(op) {
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
		if !c.Ours {
			c.finishErr(op, ErrUnsupported)
			return
		}
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
		if op.Match {
			c.needExt().matches.expect(op)
		}
	}
	c.queuePayload(h, op, n)
}

// hasLevel says whether the peer can be asked for the completion level that op wants (fi_cq(3), "COMPLETION
// SEMANTICS"). Native peers know nothing of matches. They acknowledge persistence on a connection of their own, but
// packets of a gateway have no room for the request.
func (c *Conn) hasLevel(op *TxOp) bool {
	return (!op.Match || c.Ours) && (!op.Commit || c.Ours || !c.Extended && c.oob() == nil)
}

// sendHeader fills in the header of an untagged or tagged message of n bytes.
func sendHeader(h *wire.Header, s *Send, n int) {
	h.Op, h.Flags, h.OpData, h.IovCnt = wire.OpMsg, 0, 0, 0
	if s.Tagged {
		h.Op, h.Tag = wire.OpTag, s.Tag
	}
	h.CQData = s.Data
	setFlags(h, s)
	h.SetPayload(uint64(n))
}

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

// collHeader fills in the header of a step of a collective operation.
func collHeader(h *wire.Header, tag, member uint64, n int) {
	h.Op, h.Flags, h.OpData, h.IovCnt = wire.OpColl, 0, 0, 0
	h.Tag, h.CQData = tag, member
	h.SetPayload(uint64(n))
}

// wantsRendezvous says whether a message asks before it sends: its buffer has to stay until the peer answers.
func (c *Conn) wantsRendezvous(s *Send) bool {
	return c.Rendezvous && s.Kind == KindSend && s.Tagged && !s.Inject && !s.Copy && uint64(s.Len()) > c.cfg.RendezvousOver
}

// requestToSend announces a tagged message; its data follows when the peer has matched it. False: no index is free, so
// send it eagerly.
func (c *Conn) requestToSend(op *TxOp, h *wire.Header, n int) bool {
	i := c.rdv.freeIndex()
	if i == 0 {
		return false
	}
	op.Match = false // its data goes to the receive that asked for it, so the acknowledgement says that it is matched
	*h = wire.Header{Op: wire.OpTagRTS, OpData: i, Tag: op.Tag, CQData: op.Data, MsgSize: uint64(n)}
	setFlags(h, &op.Send)
	h.SetPayload(0)
	c.rdv.announce(&c.pool.tablePool, i, op)
	op.started = true
	c.stageHeader(h, nil, false)
	return true
}

// wantsSingleCopy says whether a message is only announced, so that the peer or the transport fetches it. The first
// message that could go by single copy asks the peer, and goes through the connection.
func (c *Conn) wantsSingleCopy(s *Send) bool {
	if y := c.oob(); y != nil {
		return y.carries(s)
	}
	if !c.canSingleCopy() || s.Kind != KindSend && s.Kind != KindColl || s.Inject || s.Copy || s.Len() < c.cfg.CMAOver || s.Len() > cmaMax {
		return false
	}
	x := c.needExt()
	if hello := x.cma.ask(c.cfg.CMA, c.Way, x.out[:0]); hello != nil {
		c.stageExt(hello)
	}
	return x.cma.peerCopies
}

// canSingleCopy says whether messages may go by single copy on this connection at all: both ends seal them, and show
// which process they are.
func (c *Conn) canSingleCopy() bool {
	const both = wire.FeatureSeals | wire.FeatureShow
	return c.Ours && c.Agreed&both == both && c.cfg.CMA != nil && c.Way != nil
}

// announce announces a message that is fetched. False: no index is free, so send it eagerly.
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
	if x.oob == nil {
		by := c.cfg.CMA
		for _, b := range op.IOV[:op.NIOV] {
			if len(b) > 0 {
				r.IOV[r.N] = wire.RMAIov{Addr: by.Address(b), Len: uint64(len(b))}
				r.N++
			}
		}
		s := c.rdv.t.becomeSealed(by.NewSeals, i, &x.cma.cell)
		r.Number, r.SealAt = s.number, s.at
	}
	op.started = true
	c.stageExt(r.Append(x.out[:0]))
	return true
}

// launchAtomic queues an atomic operation with n bytes of operands. One that brings nothing back is transmitted and
// completes as a write; the others' results come in the order of all that is asked for.
func (c *Conn) launchAtomic(op *TxOp, h *wire.Header, n int) {
	a := op.Atomic
	compare := a.Compare[:a.NCompare]
	oob := c.oob() != nil
	most := c.cfg.AtomicMax
	switch {
	case !c.Extended:
		c.finishErr(op, ErrUnsupported)
		return
	case most > 0 && uint64(n)+sum(compare) > uint64(most):
		c.finishErr(op, ErrTooLong)
		return
	case c.cfg.NativeAtomics && !atomics.Native(a.Type, a.Op), oob && op.HasData: // rxm has no data with them
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
	if a.Op == atomics.Read {
		n, op.NIOV = 0, 0
	}
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
