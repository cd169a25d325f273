package engine

import "gofabric/internal/xnet/wire"

// Messages by reference.

// refer announces a message by reference. False: no index is free, so send it eagerly.
func (c *Conn) refer(op *TxOp) bool {
	i := c.rtsIndex()
	if i == 0 {
		return false
	}
	p := c.pulls()
	r := &p.ref
	*r = wire.Ref{Index: i, Tagged: op.Tagged, HasData: op.HasData, Match: op.Match, Coll: op.Kind == KindColl, Tag: op.Tag, CQData: op.Data, Size: uint64(op.Send.Len())}
	t := c.table()
	t.announce(i, op)
	if p.carry == nil {
		for _, b := range op.IOV[:op.NIOV] {
			if len(b) > 0 {
				r.IOV[r.N] = wire.RMAIov{Addr: c.cfg.Puller.Address(b), Len: uint64(len(b))}
				r.N++
			}
		}
		r.Number, r.SealAt = t.becomeSealed(c.cfg.Puller, i, &p.cell)
	}
	op.started = true
	c.stageExt(r.Append(p.out[:0]))
	return true
}

// referred takes a message by reference: into the receive that waits for it, or into memory for unexpected ones, or, when that is full, it stays where it is
// until a receive comes.
func (c *Conn) referred(b []byte) error {
	p := c.pul
	r := &p.ref
	if err := r.Parse(b); err != nil || !p.pull || r.SealAt == 0 {
		return ErrProtocol
	}
	if c.state == Broken {
		return nil // the sender takes its buffer back
	}
	if !c.takeIndex(r.Index) {
		return ErrProtocol
	}
	c.MsgsIn++
	q := &c.rx.msgs
	var op *RxOp
	if r.Coll {
		c.referredColl(r)
		return nil
	}
	if r.Tagged {
		q = &c.rx.tags
		op = c.rx.matchTag(c.Src, r.Tag, r.Size)
	} else {
		r.Tag = 0
		op = c.rx.matchMsg(c.Src, r.Size)
	}
	if op != nil {
		op.tag, op.src, op.msgLen, op.sink = r.Tag, c.Src, r.Size, c.rx.sinkFor(c.sink)
		op.hasData, op.data, op.ack = r.HasData, r.CQData, false
		c.pullInto(op, r.IOV[:r.N], r.Index, seal{r.SealAt, r.Number})
		return nil
	}
	c.pool.hdr.Flags, c.pool.hdr.CQData = 0, r.CQData
	if r.HasData {
		c.pool.hdr.Flags = wire.FlagCQData
	}
	m := c.newMessage(q, r.Size, r.Tag)
	c.keepReferred(m, r)
	if c.rx.closed {
		c.rx.dropQueued(q, m)
	}
	return nil
}

// keepReferred keeps a message that nobody has asked for: a copy of it, if there is room and it may be copied before it is matched, else a note of where it is.
func (c *Conn) keepReferred(m *message, r *wire.Ref) {
	if !r.Match && !c.rx.closed && c.roomFor(m.msgLen) {
		if c.pullUnexpected(m, r) {
			c.freeIndex(r.Index)
			c.answerExt(wire.ExtDone, r.Index)
			return
		}
		r.N = 0 // it is asked for when it is matched
	}
	m.rts, m.rtsIndex, m.ref, m.seal = true, r.Index, append(m.ref[:0], r.IOV[:r.N]...), seal{r.SealAt, r.Number}
}

// pullInto copies a message by reference into op. If it cannot be copied, or its seal is broken, it is asked for as after a request to send: op stays what
// it was, and a peer that has withdrawn the message has ended the connection or sends a copy.
func (c *Conn) pullInto(op *RxOp, ref []wire.RMAIov, index uint8, s seal) {
	if c.state != Connected {
		c.clearToSend(op, index) // which says what is wrong
		return
	}
	if c.carriage() != nil {
		c.fetch(op, ref[0].Addr, ref[1:])
		return
	}
	p := c.pul
	n, left := 0, min(op.msgLen, op.size())
	from := trim(p.remote[:copy(p.remote[:], ref)], left)
	for i := range int(op.niov) {
		b := op.part(i)
		if k := min(uint64(len(b)), left); k > 0 {
			p.local[n] = b[:k]
			n++
			left -= k
		}
	}
	if n > 0 && !c.pullSealed(from, p.local[:n], s) {
		c.clearToSend(op, index)
		return
	}
	c.freeIndex(index)
	c.BytesIn += op.msgLen
	c.answerExt(wire.ExtDone, index)
	c.rx.finish(op)
}

// pullSealed copies ranges of the peer's memory, and reports whether they were copied while the seal of their message was whole. If they cannot be read, the
// peer is told to send no more messages by reference.
func (c *Conn) pullSealed(from []wire.RMAIov, into [][]byte, s seal) bool {
	p := c.pul
	p.loan = Loan{PID: p.pid, Seal: wire.Seal(&p.challenge, s.number), SealAt: s.at, From: from, Into: into}
	got := c.cfg.Puller.Pull(&p.loan)
	p.loan = Loan{}
	clear(into)
	if got == Unreadable {
		c.answerExt(wire.ExtRefuse, 0)
	}
	return got == Copied
}

// trim shortens ranges to n bytes altogether.
func trim(iov []wire.RMAIov, n uint64) []wire.RMAIov {
	for i := range iov {
		if iov[i].Len >= n {
			iov[i].Len = n
			if n == 0 {
				return iov[:i]
			}
			return iov[:i+1]
		}
		n -= iov[i].Len
	}
	return iov
}

// roomFor reports whether the budget for unexpected messages allows n bytes more.
func (c *Conn) roomFor(n uint64) bool {
	return n == 0 || c.rx.held()+n <= c.rx.Limit && c.unexpBytes+n <= c.rx.PeerLimit && !c.rx.full(c)
}

// pullUnexpected copies all of a message for which there is no receive: a sender waits for one no longer than it would with other messages.
func (c *Conn) pullUnexpected(m *message, r *wire.Ref) bool {
	if m.msgLen > 0 {
		buf := c.pool.buffer(int(m.msgLen))[:m.msgLen]
		c.pul.local[0] = buf
		if !c.pullSealed(r.IOV[:r.N], c.pul.local[:1], seal{r.SealAt, r.Number}) {
			c.pool.putBuffer(buf)
			return false
		}
		c.charge(m, uint64(cap(buf)))
		m.parts = append(m.parts, buf)
	}
	m.stored, m.conn = m.msgLen, nil
	c.BytesIn += m.msgLen
	return true
}

// pulled completes a message that the peer has copied.
func (c *Conn) pulled(b []byte) error {
	if len(b) < 2 {
		return ErrProtocol
	}
	op := c.announced(b[1])
	if op == nil {
		return ErrProtocol
	}
	c.finish(op)
	return nil
}
