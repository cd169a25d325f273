package engine

// A seal is 16 bytes of the sender's memory, at an address that the announcement names. It is whole as long as it
// holds the first half of the receiver's challenge and the number of the announcement, which is never used again. A
// receiver that finds it whole after it has copied the message knows that the sender had not given the buffer back
// until then (a sequence lock across processes).
//
// There is a seal for each index of the table of announcements. The table, which a connection has only while there
// are announcements, therefore has the memory of the seals. That memory is made with the first announcement and
// stays with the table, and the table stays in the domain's pool: memory that was a seal once is nothing else as
// long as the domain is open.

// Seals is memory of this process that peers read: a seal for each index. It does not move.
type Seals interface {
	// Set makes the seal of index i whole, and returns its number and its address. No two seals of this process
	// have the same number.
	Set(i uint8, challenge *[SealLen]byte) (number, at uint64)
	// Break breaks the seal of index i. Other processes see it broken before they see anything that the caller, or
	// a thread that synchronizes with the caller, writes afterwards.
	Break(i uint8)
}

// becomeSealed seals our announcement i, which must not have been sent yet.
func (t *rendezvousTable) becomeSealed(newSeals func() Seals, i uint8, challenge *[SealLen]byte) seal {
	if t.seals == nil {
		t.seals = newSeals()
	}
	t.sealed[i/64] |= 1 << (i % 64)
	number, at := t.seals.Set(i, challenge)
	return seal{at, number}
}

// becomeUnsealed breaks the seal of our announcement i, if it has one. Its buffer may change from now on.
func (t *rendezvousTable) becomeUnsealed(i uint8) {
	word, bit := &t.sealed[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		*word &^= bit
		t.seals.Break(i)
	}
}

// becomeWithdrawn removes our announcement i from the table, when the peer has copied the message, asks for it
// through the connection, or has ended. There is no other way out of the table, so that no buffer is given back
// under a whole seal.
func (t *rendezvousTable) becomeWithdrawn(i uint8) *TxOp {
	t.becomeUnsealed(i)
	op := t.sends[i]
	t.sends[i] = nil
	return op
}
