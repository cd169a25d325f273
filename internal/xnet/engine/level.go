package engine

import "gofabric/internal/xnet/wire"

// Completion levels that need more of the peer than to acknowledge what came (fi_cq(3), "COMPLETION SEMANTICS"), and what regions want to know.

// carries says whether the peer can be asked for the level that op wants. Native peers know nothing of matches; what is made persistent they tell of where
// they are spoken to directly, but packets of a gateway have no room for the question.
func (c *Conn) carries(op *TxOp) bool {
	return (!op.Match || c.Ours) && (!op.Commit || c.Ours || !c.Extended && c.carriage() == nil)
}

// expectMatch notes that op, which is being queued, completes when the peer has matched it. Both ends count such messages, in the order of the stream.
func (c *Conn) expectMatch(op *TxOp) {
	p := c.pulls()
	op.matchID = p.matchOut
	p.matchOut++
	p.matches.push(op)
}

// nextMatch is the number of the peer's message that wants to hear of its match.
func (c *Conn) nextMatch() uint32 {
	if !c.Ours {
		return 0 // the flag means nothing to others
	}
	p := c.pulls()
	p.matchIn++
	return p.matchIn - 1
}

// tellMatched tells the peer that its message has found a receive, or was discarded.
func (c *Conn) tellMatched(id uint32) {
	if !c.Ours {
		return
	}
	var b [wire.MatchedLen]byte
	c.stageExt(wire.AppendMatched(b[:0], id))
	c.answered()
}

// matchedBy takes the peer's word that it has matched a message.
func (c *Conn) matchedBy(b []byte) error {
	id, err := wire.ParseMatched(b)
	if err != nil {
		return ErrProtocol
	}
	op := c.pul.matches.remove(func(op *TxOp) bool { return op.matchID == id })
	if op == nil {
		return ErrProtocol
	}
	if op.matched = true; op.left {
		c.finish(op)
	}
	return nil
}

// endMatches ends what has been transmitted and not matched, for the connection has ended; the rest is in the queue still.
func (c *Conn) endMatches(err error) {
	if c.pul == nil {
		return
	}
	c.pul.matches.each(func(op *TxOp) {
		if op.left {
			c.finishErr(op, err)
		}
	})
}

// countRegions tells each region once that ranges in it were accessed, and with how many bytes.
func countRegions(regions [MaxIOV]Region, iov []wire.RMAIov, write bool) {
	for i := range iov {
		r := regions[i]
		if r == nil {
			continue
		}
		n := iov[i].Len
		for k := i + 1; k < len(iov); k++ {
			if regions[k] == r {
				n += iov[k].Len
				regions[k] = nil
			}
		}
		r.RemoteAccess(write, n)
	}
}

// persist makes ranges of regions durable, and reports whether that went well.
func persist(regions *[MaxIOV]Region, mem [][]byte) bool {
	for i, m := range mem {
		if r := regions[i]; r != nil && len(m) > 0 && r.Persist(m) != nil {
			return false
		}
	}
	return true
}
