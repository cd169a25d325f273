package engine

import "gofabric/provider/tcp/wire"

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
	h := &c.hdr
	index := h.OpData
	word, bit := &c.rtsIn[index/64], uint64(1)<<(index%64)
	if *word&bit != 0 {
		c.Fail(ErrProtocol)
		return
	}
	*word |= bit
	if op := c.rx.matchTag(c.Src, h.Tag); op != nil {
		op.tag, op.src, op.msgLen, op.sink = h.Tag, c.Src, h.MsgSize, c.sink
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
}

// startData directs the data of a rendezvous to the receive that asked for it.
func (c *Conn) startData() {
	h := &c.hdr
	var op *RxOp
	if c.cts != nil {
		op = c.cts[h.OpData]
	}
	if op == nil || op.msgLen != h.PayloadLen() {
		c.Fail(ErrProtocol)
		return
	}
	c.cts[h.OpData] = nil
	c.rtsIn[h.OpData/64] &^= 1 << (h.OpData % 64)
	c.receiveInto(op, op.msgLen)
}

// serveRead queues the answer to a read request.
func (c *Conn) serveRead() {
	h := &c.hdr
	op := c.pool.getTx()
	op.internal = true
	op.Kind = KindRemoteRead
	n := uint64(0)
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, ok := c.mem.Verify(v.Key, v.Addr, v.Len, false)
		if !ok {
			c.pool.putTx(op)
			c.Fail(ErrAccess)
			return
		}
		op.IOV[i], op.RMA[i].Key = mem, v.Key
		if region != nil {
			op.region = region
		}
		n += v.Len
	}
	op.NIOV = int(h.IovCnt)
	c.replies++
	r := &c.scratch
	*r = wire.Header{Op: wire.OpReadRsp}
	r.SetPayload(n)
	c.queuePayload(r, op, int(n))
	if c.replies > c.cfg.InternalMax {
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
	n := c.hdr.PayloadLen()
	if n != uint64(op.Send.Len()) {
		c.reads.pushFront(op)
		c.Fail(ErrProtocol)
		return
	}
	in := &c.in
	in.kind, in.tx, in.left, in.i, in.n, in.hasAck = inRead, op, n, 0, op.NIOV, false
	for i := range op.NIOV {
		in.segs[i] = op.IOV[i]
	}
	if n == 0 {
		c.endPayload()
	}
}

// startWrite directs a peer's write to the memory it names, if it may.
func (c *Conn) startWrite() {
	h := &c.hdr
	in := &c.in
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, ok := c.mem.Verify(v.Key, v.Addr, v.Len, true)
		if !ok {
			c.Fail(ErrAccess)
			return
		}
		in.segs[i], in.region[i], in.keys[i] = mem, region, v.Key
	}
	in.kind, in.left, in.size, in.i, in.n = inWrite, h.PayloadLen(), h.PayloadLen(), 0, int(h.IovCnt)
	in.hasAck = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	in.hdr.has = h.Flags&wire.FlagCQData != 0
	if in.hdr.has {
		in.hdr.data = h.CQData
	}
	if in.left == 0 {
		c.endPayload()
	}
}

// endWrite reports a peer's write, silently unless it brought data for the queue.
func (c *Conn) endWrite() {
	in := &c.in
	for i := range in.n {
		if r := in.region[i]; r != nil {
			r.RemoteAccess(true, in.size)
			in.region[i] = nil
			break // one count for one operation, however many ranges
		}
	}
	if in.hasAck {
		c.acknowledge()
	}
	c.done = Completion{Kind: KindRemoteWrite, Silent: !in.hdr.has, HasData: in.hdr.has, Len: in.size, Data: in.hdr.data, Src: c.Src}
	c.sink.Completed(&c.done)
}

// Forget lets go of the memory of a region that is being closed: the rest of a write into it that is still arriving is dropped, and what a peer reads of
// it is sent from a copy.
func (c *Conn) Forget(key uint64) {
	if in := &c.in; in.kind == inWrite {
		for i := range in.n {
			if in.keys[i] == key {
				in.i, in.n = 0, 0 // no room: absorb drops what comes
				clear(in.segs[:])
				clear(in.region[:])
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
