package engine

// A seal is 16 bytes of the sender's memory, at an address that the announcement names. It is whole as long as it holds the first half of the receiver's
// challenge and the number of the announcement, which is never used again. A receiver that finds it whole after it has copied the message knows that the
// sender had not given the buffer back until then.
//
// There is a seal for each index of the table of announcements, so that the table, which a connection has only while there are announcements, has the memory of
// the seals as well. It is made with the first announcement and stays with the table, which stays in the domain's pool: what was a seal once is never anything
// else while the domain is open.

// seal is where the peer has the seal of a message, and its number.
type seal struct{ at, number uint64 }

// Seals is memory of this process that peers read: a seal for each index. It stays where it is.
type Seals interface {
	// Set makes the seal of index i whole, and returns its number and its address. No two seals of this process have one number.
	Set(i uint8, challenge *[SealLen]byte) (number, at uint64)
	// Break breaks the seal of index i. Other processes see it broken before they see anything that the caller, or who learns of it from the caller, writes afterwards.
	Break(i uint8)
}

// becomeSealed seals the announcement i. It must precede the announcement.
func (t *rdvTable) becomeSealed(by Puller, i uint8, challenge *[SealLen]byte) (number, at uint64) {
	if t.seals == nil {
		t.seals = by.NewSeals()
	}
	t.sealed[i/64] |= 1 << (i % 64)
	return t.seals.Set(i, challenge)
}

// becomeUnsealed breaks the seal of the announcement i, if it has one: from now on its buffer may change.
func (t *rdvTable) becomeUnsealed(i uint8) {
	word, bit := &t.sealed[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		*word &^= bit
		t.seals.Break(i)
	}
}

// becomeWithdrawn takes the announcement i out of the table, whether the peer has copied the message, asks for it through the connection, or is gone. It is the
// only way out of the table, so that no buffer is given back under a whole seal.
func (t *rdvTable) becomeWithdrawn(i uint8) *TxOp {
	t.becomeUnsealed(i)
	op := t.rts[i]
	t.rts[i] = nil
	return op
}
