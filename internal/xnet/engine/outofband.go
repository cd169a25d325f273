package engine

import "gofabric/internal/xnet/wire"

// Transports with messages, remote memory access and a rendezvous of their own, such as a connection to a native
// rxm peer, carry large payloads and answers out of band. The stream then only says in which order the operations
// happen:
//
//   - A message longer than a limit is an OpExt with a wire.Ref without memory ranges. AnnouncedSend has its
//     buffers, until SendFetched.
//   - A message that the peer holds back comes with Announce. When it has met its receive the Fetcher fetches it,
//     and calls Fetched.
//   - Reads and all atomic operations are requests in the stream. TakeRequest has their buffers, until RequestDone.
//     Answers do not come in the stream.

// Fetcher fetches announced messages.
type Fetcher interface {
	// Fetch starts to fetch the payload of a message. f is borrowed. Fetch must not call the engine.
	Fetch(f *Fetch)
}

// Fetch describes a message to fetch.
type Fetch struct {
	Slot int           // for Fetched
	ID   uint64        // as announced
	From []wire.RMAIov // as announced; borrowed
	// The room of the receive, at most the message; borrowed until Fetched, the list itself only for the call.
	Into [][]byte
}

// Announcement describes a message that the peer holds back.
type Announcement struct {
	Tagged, HasData bool
	Tag, Data       uint64
	Size            uint64 // bytes
	ID              uint64 // the Fetcher's name for it
	From            []wire.RMAIov
}

// outOfBand has the operations that a connection has given to its Fetcher. Methods that only ask accept a nil
// receiver, which a connection without a Fetcher has.
type outOfBand struct {
	by    Fetcher
	over  int     // longer messages are carried, bytes
	asked opList  // reads and atomic operations
	ins   []*RxOp // receives by slot
	free  []int32 // unused slots
	into  [MaxIOV][]byte
	f     Fetch
}

// carries reports whether a message bypasses the stream.
func (y *outOfBand) carries(s *Send) bool {
	return y != nil && s.Kind == KindSend && !s.Inject && !s.Copy && s.Len() > y.over
}

// reading reports whether the Fetcher has reads or atomic operations.
func (y *outOfBand) reading() bool { return y != nil && y.asked.head != nil }

// idle reports that the Fetcher has no receive.
func (y *outOfBand) idle() bool { return y == nil || len(y.ins) == len(y.free) }

// answered removes a read or atomic operation and reports whether the Fetcher had it.
func (y *outOfBand) answered(op *TxOp) bool {
	return y.asked.remove(func(o *TxOp) bool { return o == op }) != nil
}

// fetch has the Fetcher fetch the payload of a message that op was matched with.
func (y *outOfBand) fetch(op *RxOp, id uint64, from []wire.RMAIov) {
	slot := len(y.ins)
	// Slots are used again, so that the table stays small.
	if n := len(y.free); n > 0 {
		slot, y.free = int(y.free[n-1]), y.free[:n-1]
		y.ins[slot] = op
	} else {
		y.ins = append(y.ins, op)
	}
	y.f = Fetch{Slot: slot, ID: id, From: from, Into: op.first(op.msgLen, &y.into)}
	y.by.Fetch(&y.f)
	clear(y.into[:])
	y.f = Fetch{}
}

// fetched returns the receive of a slot and frees the slot. It returns nil if the connection has ended.
func (y *outOfBand) fetched(slot int) *RxOp {
	if slot >= len(y.ins) || y.ins[slot] == nil {
		return nil
	}
	op := y.ins[slot]
	y.ins[slot] = nil
	y.free = append(y.free, int32(slot))
	return op
}

// has reports whether the Fetcher has buffers of operations that mine accepts, not counting announced messages.
func (y *outOfBand) has(mine func(*TxOp) bool) bool {
	if y != nil {
		for op := range y.asked.all {
			if mine(op) {
				return true
			}
		}
	}
	return false
}

// discardFor discards the receives that go to sink and reports whether there were any.
func (y *outOfBand) discardFor(sink CompletionSink) (some bool) {
	if y == nil {
		return false
	}
	for _, op := range y.ins {
		if op != nil && op.sink == sink {
			op.discarded, some = true, true
		}
	}
	return some
}

// end takes everything back from the Fetcher when the connection has ended.
func (y *outOfBand) end(sent func(*TxOp), received func(*RxOp)) {
	if y == nil {
		return
	}
	for op := range y.asked.popAll {
		sent(op)
	}
	for i, op := range y.ins {
		if op != nil {
			y.ins[i] = nil
			received(op)
		}
	}
	y.ins, y.free = nil, nil
}
