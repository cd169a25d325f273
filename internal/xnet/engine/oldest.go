package engine

// Wait is the oldest operation of a connection. The watchdog (FI_WATCHDOG) uses it to find operations without
// progress: if the same one is the oldest for long, the reason in Why tells where it hangs.
type Wait struct {
	Seq   uint32 // number of the operation
	Kind  Kind
	Why   Why
	Bytes uint64 // that it moves
}

// Why is what an operation waits for.
type Why uint8

const (
	WhyConnection Why = iota // the connection is not up
	WhyFence                 // operations before it are not complete
	WhyTransport             // the transport accepts no data
	WhyAnswer                // the peer's answer: data, or the result of an atomic operation
	WhyAck                   // the peer's acknowledgement
	WhyMatch                 // a receive of the peer
)

// String returns the reason as part of a sentence, for the watchdog's report.
func (w Why) String() string {
	return [...]string{
		"the connection is not up", "a fence: operations posted before it are not complete", "the transport accepts no data",
		"the peer has not answered", "the peer has not acknowledged it", "the peer has not matched it with a receive",
	}[w]
}

// Oldest returns the oldest of the application's operations that are not complete, or false if there is none. Seq
// compares it with those of other connections of the pool.
func (c *Conn) Oldest() (w Wait, ok bool) {
	// Numbers wrap, so they are compared by their difference.
	take := func(op *TxOp, why Why) {
		if op == nil || op.internal || ok && int32(op.seq-w.Seq) >= 0 {
			return
		}
		w, ok = Wait{Seq: op.seq, Kind: op.Kind, Why: why, Bytes: uint64(op.Send.Len())}, true
	}
	// Operations in the list waiting wait for one of two reasons.
	held := WhyFence
	if c.state != Connected {
		held = WhyConnection
	}
	take(c.waiting.head, held)
	take(c.reads.head, WhyAnswer)
	take(c.acks.head, WhyAck)
	if c.answers != nil {
		take(c.answers.verdicts.asked.head, WhyAck)
	}
	if c.ext != nil {
		take(c.ext.matches.waiting.head, WhyMatch)
	}
	if y := c.oob(); y != nil {
		take(y.asked.head, WhyAnswer)
	}
	for _, op := range c.rdv.sends {
		take(op, WhyMatch)
	}
	// The oldest in the queue is enough.
	for op := range c.out.operations {
		take(op, WhyTransport)
		break
	}
	return w, ok
}
