package engine

// Named receive contexts (FI_NAMED_RX_CTX, fi_getinfo(3)): an endpoint may have several receive contexts, and the
// sender says which one an operation is for (fi_rx_addr, fi_av(3)). The stream is at one of them, at first at
// context 0, and wire.OpContext moves it to another one. Naming a context therefore costs a header when the
// destination changes, and nothing if contexts are not named. An announced message (rendezvous, single copy) is
// matched when the announcement comes; its data belongs to no context.

// Group makes list the receive contexts of one endpoint, from which peers choose by index. There are at most
// 256. It must be called before there are connections, which are made with the first context. All contexts
// collect their completions (Collect), because a connection belongs to no single one.
func Group(list []*RxContext) {
	for i, rx := range list {
		rx.group, rx.index, rx.Collect = list, uint8(i), true
	}
}

// all yields the contexts of the group, or rx alone.
func (rx *RxContext) all(yield func(*RxContext) bool) {
	if rx.group == nil {
		yield(rx)
		return
	}
	for _, r := range rx.group {
		if !yield(r) {
			return
		}
	}
}

// at returns the context of the group with this index, or nil.
func (rx *RxContext) at(i uint8) *RxContext {
	switch {
	case rx.group == nil && i == 0:
		return rx
	case int(i) < len(rx.group):
		return rx.group[i]
	}
	return nil
}

// sinkFor returns the sink of receives in rx whose message came over a connection with sink s.
func (rx *RxContext) sinkFor(s CompletionSink) CompletionSink {
	if !rx.Collect {
		return s
	}
	// The connection's sink has something to add for each receive.
	if w, ok := s.(SinkWrapper); ok {
		return w.Wrap(rx.Sink)
	}
	return rx.Sink
}

// sinkOfAccess returns the sink for a peer's access to memory through context i.
func (rx *RxContext) sinkOfAccess(i uint8, s CompletionSink) CompletionSink {
	if rx.group == nil {
		return s
	}
	return rx.group[i].sinkFor(s)
}

// shut drops the messages that have come. Receives end without a completion, and their buffers are the caller's
// again.
func (rx *RxContext) shut() {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for m := range q.EachMsg() { // a sender that waits for a match or an OpCTS gets one
			rx.dropQueued(q, m.Value)
		}
	}
	rx.Release()
	rx.resume()
}

// Reopen undoes Shut.
func (rx *RxContext) Reopen() { rx.closed = false }
