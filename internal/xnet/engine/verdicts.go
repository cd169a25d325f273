package engine

import (
	"encoding/binary"

	"gofabric/internal/xnet/wire"
)

// Verdicts (wire.FeatureVerdicts): a target says of each write and atomic operation whether it took it, and refuses a
// bad one without ending the connection.
//
//	initiator                                    target
//	write 0, write 1, write 2 (bad key)   ->
//	                                      <-     accepted, up to 2
//	                                      <-     refused, 2: key
//
// A write completes at the initiator when its verdict has come; reads and fetching atomics have their answer, or a
// refusal in its place. Verdicts come in the order of the stream. An acceptance waits while the rest of a short message
// is still coming, so that one stands for several writes, and one that has not left the queue takes in those that
// follow. It waits for nothing that may not come: where the bytes at hand end with a message, or are not taken, it
// goes.

// How much an acceptance waits for, at most.
const (
	acceptWrites = 16        // accepted
	acceptBytes  = 256 << 10 // of them
	acceptLeft   = 64 << 10  // bytes that are missing of the message that is coming
)

// verdicts holds those of a connection in both directions.
type verdicts struct {
	asked opList // our writes that have left, and have no verdict
	ours  uint32 // how many of ours have one
	peers uint32 // how many of the peer's have ended
	told  uint32 // how many of those it knows of
	owed  uint64 // bytes of the others

	// The latest acceptance that was queued: where its number is, and where it begins in the stream. Those that follow
	// raise the number as long as nothing of it has left. A nil ch: they need another one.
	ch  *chunk
	at  int
	pos uint64
}

// accept notes that the peer's oldest write without a verdict, of n bytes, is in place, and reports whether it must be
// told now.
func (v *verdicts) accept(n uint64) bool {
	v.peers++
	v.owed += n
	return v.peers-v.told >= acceptWrites || v.owed >= acceptBytes
}

// waits reports whether the peer does not know of all acceptances.
func (v *verdicts) waits() bool { return v.told != v.peers }

// raise notes that the peer is told of all acceptances, and reports whether one that is queued says so now. handed is
// the position up to which the stream was handed out.
func (v *verdicts) raise(handed uint64) bool {
	v.told, v.owed = v.peers, 0
	if v.ch == nil || v.pos < handed {
		return false
	}
	binary.LittleEndian.PutUint32(v.ch.b[v.at:], v.peers)
	return true
}

// queued notes where the latest acceptance was queued: at the end of ch.
func (v *verdicts) queued(ch *chunk, pos uint64) {
	v.ch, v.at, v.pos = ch, len(ch.b)-wire.VerdictLen+wire.AcceptedAt, pos
}

// settle forgets which acceptance could be raised, because positions in the queue have changed.
func (v *verdicts) settle() { v.ch = nil }

// refuse notes that the peer's oldest write without a verdict is refused, and returns its number. All before it must
// have been told.
func (v *verdicts) refuse() uint32 {
	n := v.peers
	v.peers++
	v.told = v.peers
	v.ch = nil // the next acceptance goes behind this
	return n
}

// accepted ends the writes before number n.
func (v *verdicts) accepted(n uint32, end func(*TxOp)) error {
	if n == v.ours {
		return ErrProtocol
	}
	for v.ours != n {
		op := v.asked.pop()
		if op == nil {
			return ErrProtocol
		}
		v.ours++
		end(op)
	}
	return nil
}

// refused returns our write that a refusal is about, nil if there is none; took takes it out.
func (v *verdicts) refused(n uint32) *TxOp {
	if n != v.ours {
		return nil
	}
	return v.asked.head
}

func (v *verdicts) took() {
	v.asked.pop()
	v.ours++
}
