package engine

// Usage is what an engine holds at the moment, for those who look for leaks and bounds.
type Usage struct {
	Peers     int // Passive of them came by themselves
	Passive   int
	HalfOpen  int // native peers of which only an RTS is known
	Memos     int // native peers that have ended
	Answers   int // CTS that wait for transmission
	Senders   int // flows that have something in flight, or had lately
	Receivers int // flows that hold something behind a hole, or did lately
	Pages     int // of 16 KiB, with data behind holes
	Due       int // peers with a deadline
}

// Usage returns what the engine holds.
func (e *Engine) Usage() Usage {
	return Usage{
		Peers: len(e.peers), Passive: e.passive, HalfOpen: len(e.half.m), Memos: len(e.memos), Answers: e.answers.Len(),
		Senders: e.flows.OutSenders, Receivers: e.flows.OutReceivers, Pages: e.flows.OutPages, Due: e.due.Len(),
	}
}
