package engine

// rdvTable holds the messages that one end has announced and the other not yet asked for or received, by index. A connection has a table only while
// there are some.
type rdvTable struct {
	rts   [255]*TxOp // announced to the peer; native uses 1 to 254
	cts   [256]*RxOp // asked for, and not here yet
	rtsIn [4]uint64  // indices the peer uses: from its announcement to its data
	n     int        // all of these

	seals  Seals     // nil until a message was announced by reference (seal.go)
	sealed [4]uint64 // announcements with a seal

	next *rdvTable
}

func (c *Conn) table() *rdvTable {
	if c.rdv == nil {
		c.rdv = c.pool.getTable()
	}
	return c.rdv
}

// less gives the table back when it is empty.
func (c *Conn) less() {
	if c.rdv.n--; c.rdv.n == 0 {
		c.pool.putTable(c.rdv)
		c.rdv = nil
	}
}

// rtsIndex returns a free index for an announcement, 0 if none is free.
func (c *Conn) rtsIndex() uint8 {
	if c.rdv == nil {
		return 1
	}
	for i := 1; i < len(c.rdv.rts); i++ {
		if c.rdv.rts[i] == nil {
			return uint8(i)
		}
	}
	return 0
}

// announce notes that op was announced to the peer as i.
func (t *rdvTable) announce(i uint8, op *TxOp) {
	t.rts[i] = op
	t.n++
}

// announced returns what was announced as i, and forgets it; nil if nothing was.
func (c *Conn) announced(i uint8) *TxOp {
	if c.rdv == nil || int(i) >= len(c.rdv.rts) || c.rdv.rts[i] == nil {
		return nil
	}
	op := c.rdv.becomeWithdrawn(i)
	c.less()
	return op
}

// ask notes that the peer was asked for the data of its i for op.
func (t *rdvTable) ask(i uint8, op *RxOp) {
	t.cts[i] = op
	t.n++
}

// asked returns the receive that n bytes of data of the peer's i are for, and forgets it and the index; nil if there is none.
func (c *Conn) asked(i uint8, n uint64) *RxOp {
	if c.rdv == nil || c.rdv.cts[i] == nil || c.rdv.cts[i].msgLen != n {
		return nil
	}
	op := c.rdv.cts[i]
	c.rdv.cts[i] = nil
	c.freeIndex(i)
	c.less()
	return op
}

// takeIndex notes that the peer uses an index, and reports false if it does already.
func (c *Conn) takeIndex(i uint8) bool {
	t := c.table()
	word, bit := &t.rtsIn[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	t.n++
	return true
}

// freeIndex undoes takeIndex.
func (c *Conn) freeIndex(i uint8) {
	c.rdv.rtsIn[i/64] &^= 1 << (i % 64)
	c.less()
}

// endAsked ends the receives that wait for data, for the connection has ended; endAnnounced the sends that were not asked for.
func (c *Conn) endAsked(err error) {
	if c.rdv == nil {
		return
	}
	for i, op := range c.rdv.cts {
		if op != nil {
			c.rdv.cts[i] = nil
			c.rx.finishErr(op, err)
		}
	}
}

func (c *Conn) endAnnounced(err error) {
	t := c.rdv
	if t == nil {
		return
	}
	c.rdv = nil
	for i := range t.rts {
		if op := t.becomeWithdrawn(uint8(i)); op != nil {
			c.finishErr(op, err)
		}
	}
	*t = rdvTable{seals: t.seals}
	c.pool.putTable(t)
}
