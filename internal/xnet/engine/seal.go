package engine

// A seal is 16 bytes of the sender's memory, at an address that the announcement names. It is whole as long as it holds
// the first half of the receiver's challenge and the number of the announcement, which is never used again. A receiver
// that finds it whole after it has copied the message knows that the sender had not given the buffer back until then.
//
// There is a seal for each index of the table of announcements, so the table, which a connection has only while there
// are announcements, has the memory of the seals as well. It is made with the first announcement and stays with the
// table, which stays in the domain's pool: memory that was a seal once is never anything else while the domain is open.

// Seals is memory of this process that peers read: a seal for each index. It stays where it is.
type Seals interface {
	// Set makes the seal of index i whole, and returns its number and its address. No two seals of this process have
	// one number.
	Set(i uint8, challenge *[SealLen]byte) (number, at uint64)
	// Break breaks the seal of index i. Other processes see it broken before they see anything that the caller, or a
	// thread that learns of it from the caller, writes afterwards.
	Break(i uint8)
}

// becomeSealed seals the announcement i, which must not have been sent yet.
func (t *rendezvousTable) becomeSealed(newSeals func() Seals, i uint8, challenge *[SealLen]byte) seal {
	if t.seals == nil {
		t.seals = newSeals()
	}
	t.sealed[i/64] |= 1 << (i % 64)
	number, at := t.seals.Set(i, challenge)
	return seal{at, number}
}

// becomeUnsealed breaks the seal of the announcement i, if it has one: from now on its buffer may change.
func (t *rendezvousTable) becomeUnsealed(i uint8) {
	word, bit := &t.sealed[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		*word &^= bit
		t.seals.Break(i)
	}
}

// becomeWithdrawn takes the announcement i out of the table, whether the peer has copied the message, asks for it
// through the connection, or is gone. It is the only way out of the table, so that no buffer is given back under a
// whole seal.
func (t *rendezvousTable) becomeWithdrawn(i uint8) *TxOp {
	t.becomeUnsealed(i)
	op := t.sends[i]
	t.sends[i] = nil
	return op
}
