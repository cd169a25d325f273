//go:build linux

package xdp

// Stats counts losses on all queues of an interface since it was opened, in packets unless the comment says
// otherwise.
type Stats struct {
	NoFrame  uint64 // dropped by the kernel: all frames to receive were in use (rx_fill_ring_empty_descs)
	RingFull uint64 // dropped by the kernel: the receive ring was full (rx_ring_full)
	// Dropped counts packets that the kernel dropped for other reasons, such as a packet of several parts on a socket
	// that does not accept them (the rest of rx_dropped).
	Dropped   uint64
	BadRx     uint64 // descriptors to receive that the kernel refused, or returned wrong: errors of this package
	BadTx     uint64 // the same for descriptors to transmit
	Unclaimed uint64 // for a port that had closed
	Overflow  uint64 // for ports that did not receive while others did (Port.Lost)
}

// Stats returns the sums of the kernel's counters.
func (i *Interface) Stats() (Stats, error) {
	var t Stats
	for _, q := range i.queues {
		k, err := q.s.statistics()
		if err != nil {
			return t, named(i.name, err)
		}
		t.NoFrame += k.Rx_fill_ring_empty_descs
		t.RingFull += k.Rx_ring_full
		if !q.s.zero {
			// In copy mode a packet without a frame counts as both (net/xdp/xsk.c, __xsk_rcv).
			k.Rx_dropped -= min(k.Rx_dropped, k.Rx_fill_ring_empty_descs)
		}
		t.Dropped += k.Rx_dropped
		t.BadRx += k.Rx_invalid_descs
		t.BadTx += k.Tx_invalid_descs
		q.in.Lock()
		t.BadRx += q.in.count.invalid
		t.Unclaimed += q.in.count.unclaimed
		t.Overflow += q.in.count.overflow
		q.in.Unlock()
		q.outq.Lock()
		t.BadTx += q.outq.bad
		q.outq.Unlock()
	}
	return t, nil
}

// Traffic returns the numbers of frames received, and submitted for transmitting, since the interface was opened. The
// counts wrap around.
func (i *Interface) Traffic() (received, sent uint32) {
	for _, q := range i.queues {
		q.in.Lock()
		received += q.s.rx.next
		q.in.Unlock()
		q.outq.Lock()
		sent += q.s.tx.next
		q.outq.Unlock()
	}
	return received, sent
}
