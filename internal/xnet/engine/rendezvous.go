package engine

// The table of announcements. In the tagged rendezvous of native (RDM protocol version 1) and in single copy an
// announcement has an index of 8 bits, which both ends use until its data has come.
//
// rendezvous has the announced messages of both directions by index. It has memory only while there are some.
type rendezvous struct{ t *rendezvousTable }

type rendezvousTable struct {
	sends    [255]*TxOp // announced to the peer; native uses the indices 1 to 254
	receives [256]*RxOp // asked for; their data has not come
	taken    [4]uint64  // indices that the peer uses: from its announcement to the end of its data
	n        int        // entries of all three

	seals  Seals     // nil before the first announcement for single copy (seal.go)
	sealed [4]uint64 // announcements with a seal

	next *rendezvousTable
}

// tablePool has the free tables of a domain, with the memory of their seals.
type tablePool struct{ tables *rendezvousTable }

// idle reports that there is no announcement.
func (r *rendezvous) idle() bool { return r.t == nil }

// table returns the table, and takes one from the pool if there is none.
func (r *rendezvous) table(p *tablePool) *rendezvousTable {
	if r.t == nil {
		if r.t = p.tables; r.t == nil {
			r.t = &rendezvousTable{}
		} else {
			p.tables, r.t.next = r.t.next, nil
		}
	}
	return r.t
}

// put takes an empty table back.
func (p *tablePool) put(t *rendezvousTable) {
	t.next = p.tables
	p.tables = t
}

// shrink counts one entry less, and gives the table back when it is empty.
func (r *rendezvous) shrink(p *tablePool) {
	if r.t.n--; r.t.n == 0 {
		p.put(r.t)
		r.t = nil
	}
}

// freeIndex returns an unused index for an announcement, or 0.
func (r *rendezvous) freeIndex() uint8 {
	if r.t == nil {
		return 1
	}
	// Index 0 is not used by native.
	for i := 1; i < len(r.t.sends); i++ {
		if r.t.sends[i] == nil {
			return uint8(i)
		}
	}
	return 0
}

// announce stores op as our announcement i.
func (r *rendezvous) announce(p *tablePool, i uint8, op *TxOp) {
	t := r.table(p)
	t.sends[i] = op
	t.n++
}

// announced returns our announcement i, or nil.
func (r *rendezvous) announced(i uint8) *TxOp {
	if r.t == nil || int(i) >= len(r.t.sends) {
		return nil
	}
	return r.t.sends[i]
}

// withdraw removes and returns our announcement i, or returns nil.
func (r *rendezvous) withdraw(p *tablePool, i uint8) *TxOp {
	if r.announced(i) == nil {
		return nil
	}
	op := r.t.becomeWithdrawn(i)
	r.shrink(p)
	return op
}

// sends yields the announced operations by index.
func (r *rendezvous) sends(yield func(uint8, *TxOp) bool) {
	if r.t == nil {
		return
	}
	for i, op := range r.t.sends {
		if op != nil && !yield(uint8(i), op) {
			return
		}
	}
}

// take notes that the peer uses index i. It returns false if it does already, which breaks the protocol.
func (r *rendezvous) take(p *tablePool, i uint8) bool {
	t := r.table(p)
	word, bit := &t.taken[i/64], uint64(1)<<(i%64)
	// The peer uses it already.
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	t.n++
	return true
}

// release undoes take.
func (r *rendezvous) release(p *tablePool, i uint8) {
	r.t.taken[i/64] &^= 1 << (i % 64)
	r.shrink(p)
}

// ask notes that the peer was asked for the data of its announcement i, for op.
func (r *rendezvous) ask(p *tablePool, i uint8, op *RxOp) {
	t := r.table(p)
	t.receives[i] = op
	t.n++
}

// asked removes and returns the receive for n bytes of data of the peer's announcement i, and frees the index. It
// returns nil if there is none.
func (r *rendezvous) asked(p *tablePool, i uint8, n uint64) *RxOp {
	if r.t == nil || r.t.receives[i] == nil || r.t.receives[i].msgLen != n {
		return nil
	}
	op := r.t.receives[i]
	r.t.receives[i] = nil
	r.release(p, i)
	r.shrink(p)
	return op
}

// discardFor discards the peer's data for receives that go to sink.
func (r *rendezvous) discardFor(sink CompletionSink) {
	if r.t == nil {
		return
	}
	for _, op := range r.t.receives {
		if op != nil && op.sink == sink {
			op.dropBuffers()
		}
	}
}

// endReceives removes the receives that wait for data, when the connection has ended.
func (r *rendezvous) endReceives(end func(*RxOp)) {
	if r.t == nil {
		return
	}
	for i, op := range r.t.receives {
		if op != nil {
			r.t.receives[i] = nil
			end(op)
		}
	}
}

// endSends removes our announcements and gives the table back, when the connection has ended.
func (r *rendezvous) endSends(p *tablePool, end func(*TxOp)) {
	t := r.t
	if t == nil {
		return
	}
	r.t = nil
	for i := range t.sends {
		if op := t.becomeWithdrawn(uint8(i)); op != nil {
			end(op)
		}
	}
	// The memory of the seals stays with the table (seal.go).
	*t = rendezvousTable{seals: t.seals}
	p.put(t)
}
