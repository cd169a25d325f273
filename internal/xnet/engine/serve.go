package engine

import "gofabric/internal/xnet/wire"

// acknowledged completes the oldest operation that waits for the peer.
func (c *Conn) acknowledged() {
	op := c.acks.pop()
	if op == nil {
		c.Fail(ErrProtocol)
		return
	}
	c.finish(op)
}

// startRendezvous takes note of a message whose data the peer holds back.
func (c *Conn) startRendezvous() {
	h := &c.pool.hdr
	index := h.OpData
	if c.state == Broken {
		return // it cannot be asked for
	}
	if !c.takeIndex(index) {
		c.Fail(ErrProtocol)
		return
	}
	if op := c.rx.matchTag(c.Src, h.Tag, h.MsgSize); op != nil {
		op.tag, op.src, op.msgLen, op.sink = h.Tag, c.Src, h.MsgSize, c.rx.sinkFor(c.sink)
		op.hasData, op.data = h.Flags&wire.FlagCQData != 0, 0
		if op.hasData {
			op.data = h.CQData
		}
		op.ack = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
		c.clearToSend(op, index)
		return
	}
	m := c.newMessage(&c.rx.tags, h.MsgSize, h.Tag)
	m.rts, m.rtsIndex = true, index // no reason to stall: there are few indices, and data of others may follow
	if c.rx.closed {
		c.rx.dropQueued(&c.rx.tags, m)
	}
}

// startData directs the data of a rendezvous to the receive that asked for it.
func (c *Conn) startData() {
	h := &c.pool.hdr
	op := c.asked(h.OpData, h.PayloadLen())
	if op == nil {
		c.Fail(ErrProtocol)
		return
	}
	c.receiveInto(op, op.msgLen, false, 0)
}

// serveRead queues the answer to a read request.
func (c *Conn) serveRead() {
	h := &c.pool.hdr
	op := c.pool.getTx()
	op.internal, op.context = true, c.rx.index
	op.Kind = KindRemoteRead
	n := uint64(0)
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, no := c.mem.Verify(v.Key, v.Addr, v.Len, false)
		if no != 0 {
			c.pool.putTx(op)
			c.forbid(no, i, true)
			return
		}
		op.IOV[i], op.RMA[i], op.regions[i] = mem, v, region
		n += v.Len
	}
	op.NIOV = int(h.IovCnt)
	c.replies++
	r := &c.pool.scratch
	*r = wire.Header{Op: wire.OpReadRsp}
	r.SetPayload(n)
	c.queuePayload(r, op, int(n))
	if int(c.replies) > c.cfg.InternalMax {
		c.becomeStalled(stallReplies)
	}
	c.sink.Replied(c)
}

// startReadResponse directs the answer to the oldest read.
func (c *Conn) startReadResponse() {
	op := c.reads.pop()
	if op == nil {
		c.Fail(ErrProtocol)
		return
	}
	n := c.pool.hdr.PayloadLen()
	to := op.IOV[:op.NIOV]
	if op.Atomic != nil {
		to = op.Atomic.Result[:op.Atomic.NResult]
	}
	if n != sum(to) || (c.pool.hdr.Op == wire.OpAtomicRsp) != (op.Atomic != nil) {
		c.reads.pushFront(op)
		c.Fail(ErrProtocol)
		return
	}
	in := c.expect(inRead, n)
	in.tx, in.n = op, len(to)
	copy(in.segs[:], to)
	if n == 0 {
		c.endPayload()
	}
}

// startWrite directs a peer's write to the memory it names, if it may.
func (c *Conn) startWrite() {
	h := &c.pool.hdr
	in := c.expect(inWrite, h.PayloadLen())
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, no := c.mem.Verify(v.Key, v.Addr, v.Len, true)
		if no != 0 {
			if !c.Verdicts() {
				c.Fail(ErrAccess)
				return
			}
			in.drop(no, i)
			break
		}
		in.segs[i], in.region[i], in.into[i] = mem, region, v
		if region != nil {
			in.whole[i] = mem
		}
	}
	if in.no == 0 {
		in.n = int(h.IovCnt)
	}
	in.hasAck = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	in.commit = h.Flags&wire.FlagCommit != 0
	in.hdr.has = h.Flags&wire.FlagCQData != 0
	if in.hdr.has {
		in.hdr.data = h.CQData
	}
	if in.left == 0 {
		c.endPayload()
	}
}

// drop lets the rest of a write go nowhere, because of its segment bad.
func (in *incoming) drop(no Refusal, bad int) {
	in.no, in.bad = no, uint8(bad)
	in.i, in.n = 0, 0 // no room: absorb drops what comes
	clear(in.segs[:])
	clear(in.region[:])
	clear(in.whole[:])
}

// endWrite reports a peer's write, silently unless it brought data for the queue.
func (c *Conn) endWrite(in *incoming) {
	if no := in.no; no != 0 && c.Verdicts() {
		in.no = 0
		c.refuse(no, in.bad)
		return
	}
	in.no = 0
	if in.commit && !persist(&in.region, in.whole[:in.n]) {
		clear(in.region[:])
		clear(in.whole[:])
		c.forbid(wire.RefusedPersist, 0, false)
		return
	}
	countRegions(in.region, in.into[:in.n], true)
	clear(in.region[:])
	clear(in.whole[:])
	if c.Verdicts() {
		c.accept(in.size)
	} else if in.hasAck {
		c.acknowledge()
	}
	c.pool.done = Completion{Kind: KindRemoteWrite, Silent: !in.hdr.has, HasData: in.hdr.has, Len: in.size, Data: in.hdr.data, Src: c.Src}
	c.accessed(c.rx.index)
}

// Forget lets go of the memory of a region that is being closed: the rest of a write into it that is still arriving is dropped, and the write refused, though some
// of it may be in place; what a peer reads of it is sent from a copy.
func (c *Conn) Forget(key uint64) {
	if in := c.in; in != nil && in.kind == inWrite {
		for i := range in.n {
			if in.into[i].Key == key {
				in.drop(wire.RefusedKey, i)
				break
			}
		}
	}
	q := &c.out
	for i := q.head; i < len(q.segs); i++ {
		s := &q.segs[i]
		if s.op == nil || !s.op.internal || s.ch != nil {
			continue
		}
		for _, r := range s.op.RMA[:s.op.NIOV] {
			if r.Key == key {
				s.b = append([]byte(nil), s.b...)
				break
			}
		}
	}
}
