package engine

// Named receive contexts (FI_NAMED_RX_CTX, fi_getinfo(3)): an endpoint may have several receive contexts, and the
// sender says which one an operation is for. The stream is at one of them, at first at context 0; wire.OpContext moves
// it to another. So naming costs a header when the destination changes, and nothing where contexts are not named. A
// message that is announced (rendezvous, single copy) is matched when the announcement comes; its data is not for a
// context.

// MaxContexts is the most receive contexts that a group can have.
const MaxContexts = 256

// Group makes list the receive contexts of one endpoint, from which peers choose by index. Connections are made with
// the first. All must collect their completions (Collect), because a connection is not of one context. At most
// MaxContexts, before there are connections.
func Group(list []*RxContext) {
	for i, rx := range list {
		rx.group, rx.index, rx.Collect = list, uint8(i), true
	}
}

// all yields the contexts of rx' group, or rx alone.
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

// at returns the context of the group with this index, nil if there is none.
func (rx *RxContext) at(i uint8) *RxContext {
	switch {
	case rx.group == nil && i == 0:
		return rx
	case int(i) < len(rx.group):
		return rx.group[i]
	}
	return nil
}

// sinkFor returns the sink of receives here whose message came over a connection with sink s.
func (rx *RxContext) sinkFor(s CompletionSink) CompletionSink {
	if !rx.Collect {
		return s
	}
	if w, ok := s.(SinkWrapper); ok {
		return w.Wrap(rx.Sink)
	}
	return rx.Sink
}

// sinkOfAccess returns the sink of a peer's access to memory through context i.
func (rx *RxContext) sinkOfAccess(i uint8, s CompletionSink) CompletionSink {
	if rx.group == nil {
		return s
	}
	return rx.group[i].sinkFor(s)
}

// shut drops the messages that have come. Receives end without completion, and their buffers are the caller's
// again.
func (rx *RxContext) shut() {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for m := range q.EachMsg() { // a sender that waits for a match, or to be asked for data, learns that it is over
			rx.dropQueued(q, m.Value)
		}
	}
	rx.Release()
	rx.resume()
}

// Reopen undoes Shut.
func (rx *RxContext) Reopen() { rx.closed = false }
