package engine

import (
	"encoding/binary"

	"gofabric/internal/xnet/wire"
)

// Verdicts (wire.FeatureVerdicts): a target reports for each write and atomic operation whether it was accepted,
// and refuses a bad one without ending the connection (ACK and NAK of InfiniBand).
//
//	initiator                                    target
//	write 0, write 1, write 2 (bad key)   ->
//	                                      <-     accepted, up to 2
//	                                      <-     refused, 2: key
//
// A write completes at the initiator when its verdict has come. Reads and fetching atomic operations have their
// answer, or a refusal in its place. Verdicts come in the order of the stream.
//
// An acceptance waits while the rest of a short message is still coming, so that one stands for several writes. One
// that has not left the queue takes in the following ones. It never waits for something that may not come: it
// leaves when the received bytes end with a message, or are not taken.

// Limits of the wait.
const (
	acceptWrites = 16        // accepted writes
	acceptBytes  = 256 << 10 // their bytes
	acceptLeft   = 64 << 10  // missing bytes of the message that is coming
)

// verdicts is the state of both directions of a connection.
type verdicts struct {
	asked      opList // our writes that have left and have no verdict
	ours       uint32 // number of our writes with a verdict
	peers      uint32 // number of the peer's writes that have ended
	reported   uint32 // number of those that the peer knows of
	unreported uint64 // bytes of the others

	// The latest queued acceptance: chunk and offset of its number, and its position in the stream. While nothing
	// of it has left, following acceptances only raise the number. nil: they need a new one.
	ch  *chunk
	at  int
	pos uint64
}

// accept notes that the peer's oldest write without a verdict, of n bytes, is in place. It reports whether that
// must be reported now.
func (v *verdicts) accept(n uint64) bool {
	v.peers++
	v.unreported += n
	return v.peers-v.reported >= acceptWrites || v.unreported >= acceptBytes
}

// waits reports whether there are acceptances that the peer does not know of.
func (v *verdicts) waits() bool { return v.reported != v.peers }

// raise notes that all acceptances are reported, and reports whether a queued one does that now. handed is the
// position up to which the stream was handed out.
func (v *verdicts) raise(handed uint64) bool {
	v.reported, v.unreported = v.peers, 0
	// There is none, or some of it has left.
	if v.ch == nil || v.pos < handed {
		return false
	}
	binary.LittleEndian.PutUint32(v.ch.b[v.at:], v.peers)
	return true
}

// queued notes where the latest acceptance is queued: at the end of ch.
func (v *verdicts) queued(ch *chunk, pos uint64) {
	v.ch, v.at, v.pos = ch, len(ch.b)-wire.VerdictLen+wire.AcceptedAt, pos
}

// forgetLast makes the next acceptance a new one, because positions in the queue have changed.
func (v *verdicts) forgetLast() { v.ch = nil }

// refuse notes that the peer's oldest write without a verdict is refused, and returns its number. All before it
// must have been reported.
func (v *verdicts) refuse() uint32 {
	n := v.peers
	v.peers++
	v.reported = v.peers
	v.ch = nil // the next acceptance goes behind the refusal
	return n
}

// accepted ends our writes with numbers below n.
func (v *verdicts) accepted(n uint32, end func(*TxOp)) error {
	// It accepts nothing: the peer breaks the protocol.
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

// refused returns our write that a refusal is about, or nil. popRefused removes it.
func (v *verdicts) refused(n uint32) *TxOp {
	if n != v.ours {
		return nil
	}
	return v.asked.head
}

// popRefused removes the write that refused has returned.
func (v *verdicts) popRefused() {
	v.asked.pop()
	v.ours++
}
