package engine

import "gofabric/internal/xnet/wire"

// Transports that have messages, remote memory access and a rendezvous of their own, as a connection with a native rxm peer has, carry large payloads and
// answers past the stream. The stream then says only in which order operations are to happen:
//
//   - A message longer than a limit stands in the stream as an OpExt with a wire.Ref that names no memory; Carried has its buffers, until Delivered.
//   - A message that the peer holds back is told with Announce. When it has met its receive the Carrier is asked to fetch it, and says Fetched.
//   - Reads, and all atomic operations, stand in the stream as requests; TakeAsked has their buffers, until Answered. Answers do not come in the stream.

// Carrier is asked to fetch announced messages.
type Carrier interface {
	// Fetch asks for the payload of a message. f is borrowed. It must not call the engine.
	Fetch(f *Fetch)
}

// Fetch says what to fetch.
type Fetch struct {
	Slot int           // for Fetched
	ID   uint64        // as announced
	From []wire.RMAIov // as announced; borrowed
	Into [][]byte      // as much of it as the receive has room for: lent until Fetched. The list is borrowed
}

// Announcement tells of a message that the peer holds back.
type Announcement struct {
	Tagged, HasData bool
	Tag, Data       uint64
	Size            uint64 // bytes
	ID              uint64 // the carrier's name for it
	From            []wire.RMAIov
}

// carriage is what a connection with a Carrier holds for it.
type carriage struct {
	by    Carrier
	over  int
	asked opList  // in the hands of the transport
	ins   []*RxOp // by slot
	free  []int32
	into  [MaxIOV][]byte
	f     Fetch
}

// Carry gives the connection a transport that carries large messages itself: messages of more than over bytes, and all of what is said above. Call it before
// the connection is up. Small messages are staged as ever, so over must not be less than Config.StageMax.
func (c *Conn) Carry(by Carrier, over int) { c.pulls().carry = &carriage{by: by, over: over} }

// carriage is what Carry made, nil if nothing.
func (c *Conn) carriage() *carriage {
	if c.pul == nil {
		return nil
	}
	return c.pul.carry
}

// carries reports whether a message goes past the stream.
func (y *carriage) carries(s *Send) bool {
	return s.Kind == KindSend && !s.Inject && !s.Copy && s.Len() > y.over
}

// Carried returns the message that an OpExt announced with this index, nil if there is none. Its buffers are lent until Delivered.
func (c *Conn) Carried(index uint8) *TxOp {
	if c.rdv == nil || int(index) >= len(c.rdv.rts) {
		return nil
	}
	return c.rdv.rts[index]
}

// Delivered completes a message from Carried.
func (c *Conn) Delivered(index uint8, err error) {
	if op := c.announced(index); op != nil {
		c.finishErr(op, err)
	}
}

// TakeAsked hands out the oldest read or atomic operation that it has not handed out, nil if there is none. Their order is that of the stream. A read's
// buffers, and an atomic operation's for the result, are lent until Answered.
func (c *Conn) TakeAsked() *TxOp {
	op := c.reads.pop()
	if op != nil {
		c.carriage().asked.push(op)
	}
	return op
}

// Answered completes an operation from TakeAsked.
func (c *Conn) Answered(op *TxOp, err error) {
	if c.carriage().asked.remove(func(o *TxOp) bool { return o == op }) == nil {
		return // the connection has ended
	}
	if a := op.Atomic; a != nil {
		c.fetching -= uint32(sum(a.Result[:a.NResult]))
	}
	c.finishErr(op, err)
}

// announcedMax is how many unexpected messages a peer may have when it announces another, before it is not listened to: more than honest peers have under way.
const announcedMax = 1 << 16

// Announce takes note of a message that the peer holds back. It keeps its place among the messages: call it when the connection is not Stalled.
func (c *Conn) Announce(a *Announcement) {
	if c.state != Connected {
		return
	}
	c.MsgsIn++
	tag, q := uint64(0), &c.rx.msgs
	var op *RxOp
	if a.Tagged {
		tag, q = a.Tag, &c.rx.tags
		op = c.rx.matchTag(c.Src, tag, a.Size)
	} else {
		op = c.rx.matchMsg(c.Src, a.Size)
	}
	if op != nil {
		op.tag, op.src, op.msgLen, op.sink = tag, c.Src, a.Size, c.rx.sinkFor(c.sink)
		op.hasData, op.data, op.ack = a.HasData, a.Data, false
		c.fetch(op, a.ID, a.From)
		return
	}
	h := &c.pool.hdr
	h.Flags, h.CQData = 0, a.Data
	if a.HasData {
		h.Flags = wire.FlagCQData
	}
	m := c.newMessage(q, a.Size, tag)
	m.rts, m.ref = true, append(append(m.ref[:0], wire.RMAIov{Addr: a.ID}), a.From...)
	if c.rx.closed {
		c.rx.dropQueued(q, m)
		return
	}
	if c.unexpCount >= announcedMax { // not before: what the carrier fetches may be behind others
		c.stallOn(m)
	}
}

// fetch asks the carrier for the payload of a message that op was matched with.
func (c *Conn) fetch(op *RxOp, id uint64, from []wire.RMAIov) {
	y := c.carriage()
	slot := len(y.ins)
	if n := len(y.free); n > 0 {
		slot, y.free = int(y.free[n-1]), y.free[:n-1]
		y.ins[slot] = op
	} else {
		y.ins = append(y.ins, op)
	}
	n, left := 0, op.msgLen
	for i := range int(op.niov) {
		b := op.part(i)
		if k := min(uint64(len(b)), left); k > 0 {
			y.into[n] = b[:k]
			n++
			left -= k
		}
	}
	y.f = Fetch{Slot: slot, ID: id, From: from, Into: y.into[:n]}
	y.by.Fetch(&y.f)
	clear(y.into[:])
	y.f = Fetch{}
	c.sink.Replied(c)
}

// Fetched completes a receive that the carrier was asked to fetch.
func (c *Conn) Fetched(slot int, err error) {
	y := c.carriage()
	if slot >= len(y.ins) || y.ins[slot] == nil {
		return // the connection has ended
	}
	op := y.ins[slot]
	y.ins[slot] = nil
	y.free = append(y.free, int32(slot))
	if err != nil {
		c.rx.finishErr(op, err)
		return
	}
	c.BytesIn += min(op.msgLen, op.size())
	c.rx.finish(op)
}

// endCarried ends what the carrier has in hand.
func (c *Conn) endCarried(err error) {
	y := c.carriage()
	if y == nil {
		return
	}
	y.asked.each(func(op *TxOp) { c.finishErr(op, err) })
	for i, op := range y.ins {
		if op != nil {
			y.ins[i] = nil
			c.rx.finishErr(op, err)
		}
	}
	y.ins, y.free = nil, nil
}

// lends reports whether the carrier has buffers of operations that mine accepts.
func (c *Conn) lends(mine func(*TxOp) bool) bool {
	y := c.carriage()
	if y == nil {
		return false
	}
	for op := y.asked.head; op != nil; op = op.next {
		if mine(op) {
			return true
		}
	}
	if c.rdv != nil {
		for _, op := range c.rdv.rts {
			if op != nil && mine(op) {
				return true
			}
		}
	}
	return false
}

// fetches reports whether the carrier fetches for receives of rx, which are discarded.
func (c *Conn) fetches(rx *RxContext) (some bool) {
	y := c.carriage()
	if y == nil {
		return false
	}
	for _, op := range y.ins {
		if op != nil && op.sink == rx.Sink {
			op.discarded, some = true, true
		}
	}
	return some
}

// idle reports that the carrier has nothing in hand for the peer.
func (y *carriage) idle() bool { return y == nil || len(y.ins) == len(y.free) }
