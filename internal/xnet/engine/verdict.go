package engine

import (
	"encoding/binary"
	"fmt"

	"gofabric/internal/xnet/wire"
)

// Verdicts (wire.FeatureVerdicts): a target says of each write and atomic operation whether it took it, and refuses a bad one without ending the connection.
//
//	initiator                                    target
//	write 0, write 1, write 2 (bad key)   ->
//	                                      <-     accepted, up to 2
//	                                      <-     refused, 2: key
//
// A write completes at the initiator when its verdict has come; reads and fetching atomics have their answer, or a refusal in its place. Verdicts come in the
// order of the stream. An acceptance waits while the rest of a short message is still coming, so that one stands for several writes, and one that has not left
// the queue takes in those that follow. It waits for nothing that may not come: where the bytes at hand end with a message, or are not taken, it goes.

// How much an acceptance waits for, at most.
const (
	acceptWrites = 16        // accepted
	acceptBytes  = 256 << 10 // of them
	acceptLeft   = 64 << 10  // bytes that are missing of the message that is coming
)

// Refusal says why memory is not accessed; see wire.Refusal.
type Refusal = wire.Refusal

// RefusedError ends an operation that the peer has refused. The connection goes on.
type RefusedError struct {
	Why  Refusal
	Kind Kind        // of the operation
	Get  bool        // of a fetching atomic operation: it changes nothing
	Mem  wire.RMAIov // the remote segment that was wrong
}

// access is the rights that the operation needs.
func (e *RefusedError) access() string {
	switch {
	case e.Kind == KindRead || e.Get:
		return "FI_REMOTE_READ"
	case e.Kind == KindFetch || e.Kind == KindCompare:
		return "FI_REMOTE_READ and FI_REMOTE_WRITE"
	}
	return "FI_REMOTE_WRITE"
}

// Error says what was wrong with the operation, and what to do.
func (e *RefusedError) Error() string {
	m := &e.Mem
	switch e.Why {
	case wire.RefusedKey:
		return fmt.Sprintf("refused by the peer: it has no open memory region with the key %#x", m.Key)
	case wire.RefusedRights:
		return fmt.Sprintf("refused by the peer: its memory region with the key %#x was not registered for %s", m.Key, e.access())
	case wire.RefusedRange:
		return fmt.Sprintf("refused by the peer: its memory region with the key %#x does not hold all of the %d bytes at %#x", m.Key, m.Len, m.Addr)
	case wire.RefusedPersist:
		return fmt.Sprintf("the peer could not make its memory region with the key %#x persistent", m.Key)
	case wire.RefusedOp:
		return "refused by the peer: it does not know this atomic operation on this datatype"
	}
	return fmt.Sprintf("refused by the peer for a reason that this version does not know (%v)", e.Why)
}

// verdicts is what a connection with verdicts holds of them.
type verdicts struct {
	asked opList // our writes that have left, and have no verdict
	ours  uint32 // how many of ours have one
	peers uint32 // how many of the peer's have ended
	told  uint32 // how many of those it knows of
	owed  uint64 // bytes of the others

	// The latest acceptance that was queued: where its number is, and where it begins in the stream. Those that follow raise the number as long as nothing of it
	// has left. A ch of nil: they need another one.
	ch  *chunk
	at  int
	pos uint64
}

// Verdicts reports whether both ends tell what becomes of each remote access.
func (c *Conn) Verdicts() bool { return c.Agreed&wire.FeatureVerdicts != 0 }

// judged reports whether the peer will say what became of op, which must be of those without an answer.
func (c *Conn) judged(op *TxOp) bool {
	return c.Verdicts() && (op.Kind == KindWrite || op.Kind == KindAtomic)
}

// accept notes that the peer's oldest write without a verdict, of n bytes, is in place.
func (c *Conn) accept(n uint64) {
	v := &c.speech().verdicts
	v.peers++
	v.owed += n
	if v.peers-v.told >= acceptWrites || v.owed >= acceptBytes {
		c.tell()
	}
}

// settle tells what was accepted, if it waits for nothing. Called when the bytes at hand are taken.
func (c *Conn) settle() {
	if c.said.told == c.said.peers || c.state != Connected {
		return
	}
	if c.stall != flowing || c.in == nil && len(c.part) == 0 || c.in != nil && c.in.left > acceptLeft {
		c.tell()
	}
}

// tell says to the peer that all of its writes up to now are in place.
func (c *Conn) tell() {
	v := &c.said.verdicts
	v.told, v.owed = v.peers, 0
	if v.ch != nil && v.pos >= c.BytesOut+uint64(c.out.ahead) {
		binary.LittleEndian.PutUint32(v.ch.b[v.at:], v.peers)
		return
	}
	v.pos = c.BytesOut + uint64(c.out.bytes)
	c.say(wire.Verdict{Kind: wire.ExtAccepted, Number: v.peers})
	v.ch = c.out.tail
	v.at = len(v.ch.b) - wire.VerdictLen + wire.AcceptedAt
}

// refuse tells the peer that its oldest write without a verdict is refused.
func (c *Conn) refuse(why Refusal, segment uint8) {
	v := &c.speech().verdicts
	if v.told != v.peers {
		c.tell()
	}
	n := v.peers
	v.peers++
	v.told = v.peers
	v.ch = nil // what follows is accepted behind this
	c.say(wire.Verdict{Kind: wire.ExtRefused, Why: why, Segment: segment, Number: n})
}

// say queues a verdict.
func (c *Conn) say(v wire.Verdict) {
	var b [wire.VerdictLen]byte
	c.stageExt(v.Append(b[:0]))
	if v.Kind != wire.ExtAccepted {
		c.refusedOnce()
	}
	c.answered()
}

// unsettle forgets which acceptance could be raised, for positions in the queue have changed.
func (c *Conn) unsettle() {
	if c.said != nil {
		c.said.ch = nil
	}
}

// forbid ends an access of the peer's that is not begun: a read, or an atomic operation that brings something back, if back; else a write. Without verdicts there is
// no other way to tell than to end the connection, as native does.
func (c *Conn) forbid(why Refusal, segment int, back bool) {
	switch {
	case !c.Verdicts() && why == wire.RefusedPersist:
		c.Fail(ErrPersist)
	case !c.Verdicts() && why == wire.RefusedOp:
		c.Fail(ErrProtocol)
	case !c.Verdicts():
		c.Fail(ErrAccess)
	case back:
		c.say(wire.Verdict{Kind: wire.ExtReadRefused, Why: why, Segment: uint8(segment)})
	default:
		c.refuse(why, uint8(segment))
	}
}

// judge takes a verdict of the peer's.
func (c *Conn) judge(b []byte) error {
	v, err := wire.ParseVerdict(b)
	if err != nil || !c.Verdicts() {
		return ErrProtocol
	}
	switch v.Kind {
	case wire.ExtAccepted:
		return c.accepted(v.Number)
	case wire.ExtRefused:
		if c.said == nil || c.said.asked.head == nil || v.Number != c.said.ours {
			return ErrProtocol
		}
		return c.refused(c.said.asked.head, &v)
	}
	if c.reads.head == nil {
		return ErrProtocol
	}
	return c.refused(c.reads.head, &v)
}

// accepted completes the writes before number n.
func (c *Conn) accepted(n uint32) error {
	if c.said == nil || n == c.said.ours {
		return ErrProtocol
	}
	for c.said.ours != n {
		op := c.said.asked.pop()
		if op == nil {
			return ErrProtocol
		}
		c.said.ours++
		c.finish(op)
	}
	return nil
}

// refused ends op, the first of its list, with what the peer says of it.
func (c *Conn) refused(op *TxOp, v *wire.Verdict) error {
	if int(v.Segment) >= op.NRMA {
		return ErrProtocol
	}
	if v.Kind == wire.ExtRefused {
		c.said.asked.pop()
		c.said.ours++
	} else {
		c.reads.pop()
	}
	if a := op.Atomic; a != nil {
		c.fetching -= uint32(sum(a.Result[:a.NResult]))
	}
	get := op.Atomic != nil && op.Atomic.Op == wire.AtomicRead
	c.finishErr(op, &RefusedError{Why: v.Why, Kind: op.Kind, Get: get, Mem: op.RMA[v.Segment]})
	return nil
}

// endJudged ends what has left and has no verdict, for the connection has ended.
func (c *Conn) endJudged(err error) {
	if c.said != nil {
		c.said.asked.each(func(op *TxOp) { c.finishErr(op, err) })
	}
}
