package engine

import (
	"math/bits"

	"gofabric/internal/xnet/wire"
)

// The budget for unexpected messages. The more others have, the less a connection may have (dynamic thresholds:
// Choudhury and Hahne, 1998). Each may always have a thousandth of Limit, at most ownMax, so that connections that
// use up the room do not keep out the small messages of others.

// Parts of the budget.
const (
	ownMax       = 16 << 10  // bytes that each connection may always have
	unexpAtOnce  = 256 << 10 // bytes that a long message takes from the budget at a time
	announcedMax = 1 << 16   // unexpected messages of a peer that announces another one; correct peers have fewer
)

// stalledPeer is a connection that is not read until there is room.
type stalledPeer struct {
	src  *source
	feed feeder
}

// UnexpectedBytes is how many bytes unexpected messages count for.
func (rx *RxContext) UnexpectedBytes() uint64 { return rx.bytes }

// held is UnexpectedBytes of the whole group.
func (rx *RxContext) held() uint64 {
	n := rx.bytes
	for _, r := range rx.group {
		if r != rx {
			n += r.bytes
		}
	}
	return n
}

// full reports whether s may not store another byte. Its share of the free bytes is such that a connection alone
// gets PeerLimit, and half of that while half is free. That is checked first, because it is true most often.
// Products are compared: each message asks twice, and a division reduced the rate of small messages measurably.
func (rx *RxContext) full(s *source) bool {
	has, held := s.unexpBytes, rx.held()
	switch {
	// A limit of the number, if there is one.
	case rx.PeerMessages > 0 && int(s.unexpCount) > rx.PeerMessages:
		return true
	case has < rx.PeerLimit/2 && held < rx.Limit/2, has < min(rx.Limit/1024, ownMax, rx.PeerLimit):
		return false
	case held >= rx.Limit:
		return true
	// The limit of one is the limit of all: no shares.
	case rx.PeerLimit >= rx.Limit:
		return has >= rx.PeerLimit
	}
	high, low := bits.Mul64(has, rx.Limit-rx.PeerLimit)
	mostHigh, most := bits.Mul64(rx.Limit-held, rx.PeerLimit)
	return high > mostHigh || high == mostHigh && low >= most
}

// roomFor reports whether the budget allows s n more bytes.
func (rx *RxContext) roomFor(s *source, n uint64) bool {
	return n == 0 || rx.held()+n <= rx.Limit && s.unexpBytes+n <= rx.PeerLimit && !rx.full(s)
}

// keep makes an unexpected message of n bytes with header h, of which nothing has come yet, and adds it to q.
func (rx *RxContext) keep(q *queue, from *source, feed feeder, h *wire.Header, n, tag uint64) *message {
	m := rx.pool.getMessage()
	m.owner, m.feed, m.pending, m.sink, m.msgLen = from, feed, true, from.completions, n
	m.hasData = h.Flags&wire.FlagCQData != 0
	if m.hasData {
		m.data = h.CQData
	}
	m.ack = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	m.node.Src, m.node.Tag = from.Src, tag
	rx.charge(m, messageOverhead)
	from.unexpCount++
	q.Arrive(&m.node)
	return m
}

// charge counts n bytes for m.
func (rx *RxContext) charge(m *message, n uint64) {
	m.cost += n
	rx.bytes += n
	m.owner.unexpBytes += n
}

// store keeps payload of m as far as the budget allows. It returns the number of bytes.
func (rx *RxContext) store(m *message, b []byte) (took int) {
	for len(b) > 0 {
		var last []byte
		if k := len(m.parts); k > 0 {
			last = m.parts[k-1]
		}
		// A new buffer: the budget pays for all of it.
		if len(last) == cap(last) {
			if rx.full(m.owner) {
				break
			}
			last = rx.pool.buffer(int(min(m.msgLen-m.stored, unexpAtOnce)))
			rx.charge(m, uint64(cap(last)))
			m.parts = append(m.parts, last)
		}
		n := min(cap(last)-len(last), len(b))
		m.parts[len(m.parts)-1] = append(last, b[:n]...)
		b, took, m.stored = b[n:], took+n, m.stored+uint64(n)
	}
	return took
}

// storeWhole adds memory that is filled already to m.
func (rx *RxContext) storeWhole(m *message, b []byte) {
	rx.charge(m, uint64(cap(b)))
	m.parts = append(m.parts, b)
	m.stored += uint64(len(b))
}

// free gives back a message that is in no queue.
func (rx *RxContext) free(m *message) {
	rx.bytes -= m.cost
	m.owner.unexpBytes -= m.cost
	m.owner.unexpCount--
	rx.pool.putMessage(m)
}

// stall notes that a connection waits for room.
func (rx *RxContext) stall(s *source, feed feeder) {
	s.stalled = true
	rx.stalled = append(rx.stalled, stalledPeer{s, feed})
}

// unstall notes that it does not wait any more.
func (rx *RxContext) unstall(s *source) {
	s.stalled = false
	for i := range rx.stalled {
		if rx.stalled[i].src == s {
			rx.stalled = append(rx.stalled[:i], rx.stalled[i+1:]...)
			break
		}
	}
}

// resume lets stalled connections continue while there is room.
func (rx *RxContext) resume() {
	if rx.group == nil {
		rx.resumeOwn()
		return
	}
	for _, r := range rx.group { // connections of other contexts may take the room
		r.resumeOwn()
	}
}

// resumeOwn is resume for one context. A connection may stall again, or others may be removed, while one continues.
func (rx *RxContext) resumeOwn() {
	for i := 0; i < len(rx.stalled); {
		p := rx.stalled[i]
		if rx.full(p.src) {
			i++
			continue
		}
		// It may have stalled again, and is then at the end of the list; or it was removed.
		p.feed.resume()
		if i < len(rx.stalled) && rx.stalled[i].src == p.src {
			i++
		}
	}
}

// inherit moves the complete messages of a connection that still wait for a receive to another connection of the
// same peer.
func (rx *RxContext) inherit(from, to *source, feed feeder) {
	queues := []*queue{&rx.msgs, &rx.tags}
	if rx.coll != nil {
		queues = append(queues, &rx.coll.q)
	}
	for _, q := range queues {
		for n := range q.EachMsg() {
			// Incomplete messages end with their connection.
			if m := n.Value; m.owner == from && !m.pending {
				m.owner, m.feed = to, feed
				from.unexpCount--
				from.unexpBytes -= m.cost
				to.unexpCount++
				to.unexpBytes += m.cost
			}
		}
	}
}
