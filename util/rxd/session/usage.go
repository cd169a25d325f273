package session

// Usage is what an engine holds at present. Tests use it to find leaks and to check bounds.
type Usage struct {
	Peers     int // all of them
	Passive   int // peers that contacted us first
	HalfOpen  int // native peers that have not proved their address
	Memos     int // native peers that have ended and are remembered
	Answers   int // answers that wait for transmission
	Senders   int // flows with a transmitting half
	Receivers int // flows with a receiving half
	Pages     int // of 16 KiB, with data behind holes
	Due       int // peers with a deadline
}

// Usage returns what the engine holds.
func (e *Engine) Usage() Usage {
	return Usage{
		Peers: len(e.peers), Passive: e.passive, HalfOpen: len(e.halfOpen.m), Memos: len(e.pastPeers), Answers: e.answers.Len(),
		Senders: e.flows.OutSenders, Receivers: e.flows.OutReceivers, Pages: e.flows.OutPages, Due: e.due.Len(),
	}
}
