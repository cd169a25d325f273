package engine

import "gofabric/internal/xnet/wire"

// prefixMax is the longest prefix, bytes.
const prefixMax = 64

// prefixed takes a message of an old rxm peer that has its tag in the header of the transfer (wire.FlagTagged) instead of in front of its payload: it is
// received as if Prefix had been there.
func (c *Conn) prefixed() {
	h := &c.pool.hdr
	var space [prefixMax]byte
	prefix := c.cfg.Prefix(space[:0], h)
	n := uint64(len(prefix)) + h.PayloadLen()
	h.Flags &= wire.FlagDelivery | wire.FlagCommit
	h.SetPayload(n)
	c.MsgsIn++
	if op := c.rx.matchMsg(c.Src, n); op != nil {
		c.startRecv(op, n, 0, nil)
		c.absorb(prefix)
		return
	}
	if c.rx.closed {
		c.dropMessage(n - uint64(len(prefix)))
		return
	}
	c.startMessage(&c.rx.msgs, n, 0)
	in := c.in // the prefix is kept though there may be no room: nobody will send it again
	b := append(c.pool.buffer(int(min(n, unexpAtOnce))), prefix...)
	c.charge(in.msg, uint64(cap(b)))
	in.msg.parts = append(in.msg.parts, b)
	in.msg.stored = uint64(len(prefix))
	if in.left -= uint64(len(prefix)); in.left == 0 && c.stall == flowing {
		c.endPayload()
	}
}
