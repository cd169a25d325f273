//go:build linux

package xdp

// Stats counts what went wrong on all queues of an interface since it was opened, in packets unless it says otherwise.
type Stats struct {
	NoFrame   uint64 // dropped by the kernel: all frames to receive were in use (rx_fill_ring_empty_descs)
	RingFull  uint64 // dropped by the kernel: the receive ring was full (rx_ring_full)
	Dropped   uint64 // dropped by the kernel for other reasons, such as a packet of several parts where that was not asked for (the rest of rx_dropped)
	BadRx     uint64 // descriptors to receive that the kernel refused, or gave back wrong: errors of this package
	BadTx     uint64 // the same to transmit
	Unclaimed uint64 // came for a port that had closed
	Overflow  uint64 // for ports that did not come for theirs while others received them (Port.Lost)
}

// Stats asks the kernel and adds up.
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
			// In copy mode a packet for which there is no frame counts as both (net/xdp/xsk.c, __xsk_rcv).
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

// Traffic is how many frames have been received, and handed over for transmitting, since the interface was opened. The counts wrap around.
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
