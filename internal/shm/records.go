package shm

import "encoding/binary"

// Instead of a stream a direction can carry records, each written whole or not at all: datagrams, or GSO batches of them. Their users have a second way to the
// peer, a socket, and send there what finds no room here, or while the peer does not poll. Two words keep the order:
//
//	viaSocket      how many the producer has sent through the socket
//	socketDrained  of how many of them the consumer knows that they have come, or never will
//
// The producer writes no record while the two differ, so that none overtakes what the socket still has. The consumer sees, without a system call, that there
// is something in its socket.

const (
	recordHead  = 8 // u32 length, u32 length of each datagram of a batch, little-endian
	recordAlign = 8 // so that the end of the ring never cuts a head in two

	// RecordMax is the longest record, bytes.
	RecordMax = 1 << 16
)

// recordSpan is what a record takes in the ring.
func recordSpan(n uint64) uint64 { return (recordHead + n + recordAlign - 1) &^ (recordAlign - 1) }

// WriteRecord writes parts, total bytes together, as one record with a mark, and reports whether there was room for it.
func (r *Rings) WriteRecord(parts [][]byte, total int, mark uint32) (bool, error) {
	need := recordSpan(uint64(total))
	if RingSize-(r.produced-r.peerConsumed) < need {
		if err := r.loadConsumed(); err != nil || RingSize-(r.produced-r.peerConsumed) < need {
			return false, err
		}
	}
	at := r.produced % RingSize
	binary.LittleEndian.PutUint32(r.out.data[at:], uint32(total))
	binary.LittleEndian.PutUint32(r.out.data[at+4:], mark)
	at += recordHead
	for _, b := range parts {
		n := copy(r.out.data[at%RingSize:], b)
		copy(r.out.data, b[n:])
		at += uint64(len(b))
	}
	r.produced += need
	r.out.produced.Store(r.produced)
	return true, nil
}

// HasRecord reports whether ReadRecord would find a record; if it has read all that it knew of, it looks for more.
func (r *Rings) HasRecord() (bool, error) {
	if r.peerProduced == r.consumed {
		p := r.in.produced.Load()
		if n := p - r.consumed; n > RingSize || n%recordAlign != 0 {
			return false, ErrBroken
		}
		r.peerProduced = p
	}
	return r.peerProduced != r.consumed, nil
}

// ReadRecord copies the next record that HasRecord has found into b, which has room for RecordMax bytes. ok is false when there is none. The room is the
// peer's again after FreeRecords.
func (r *Rings) ReadRecord(b []byte) (n int, mark uint32, ok bool, err error) {
	have := r.peerProduced - r.consumed
	if have == 0 {
		return 0, 0, false, nil
	}
	var head [recordHead]byte
	copy(head[:], r.in.data[r.consumed%RingSize:]) // once: the peer may change it at any time
	size := binary.LittleEndian.Uint32(head[:])
	mark = binary.LittleEndian.Uint32(head[4:])
	span := recordSpan(uint64(size))
	if size > RecordMax || span > have {
		return 0, 0, false, ErrBroken
	}
	n = int(size)
	k := copy(b[:n], r.in.data[(r.consumed+recordHead)%RingSize:])
	copy(b[k:n], r.in.data)
	r.consumed += span
	return n, mark, true, nil
}

// FreeRecords gives the room of the records that were read back to the peer.
func (r *Rings) FreeRecords() { r.in.consumed.Store(r.consumed) }

// PeerPolls reports whether the peer polls. After writing a record look once more: a peer that has stopped meanwhile needs the doorbell.
func (r *Rings) PeerPolls() bool { return r.out.polls.Load() != 0 }

// SentViaSocket says that something has left through the socket.
func (r *Rings) SentViaSocket() {
	r.sentViaSocket++
	r.out.viaSocket.Store(r.sentViaSocket)
}

// SocketDrained reports whether the peer knows that nothing that was sent through the socket is under way any more.
func (r *Rings) SocketDrained() bool {
	if r.peerDrained != r.sentViaSocket {
		r.peerDrained = r.out.socketDrained.Load()
	}
	return r.peerDrained == r.sentViaSocket
}

// PeerSentViaSocket returns how much the peer has sent through the socket, for SetSocketDrained once the socket was found empty afterwards; and whether that
// has changed since.
func (r *Rings) PeerSentViaSocket() (upTo uint32, news bool) {
	upTo = r.in.viaSocket.Load()
	return upTo, upTo != r.drained
}

// SetSocketDrained says that of what the peer has sent through the socket, nothing up to that number of PeerSentViaSocket can come any more.
func (r *Rings) SetSocketDrained(upTo uint32) {
	r.drained = upTo
	r.in.socketDrained.Store(upTo)
}

// Corrupt writes a position that cannot be, so that the peer finds the memory broken. It is for tests of packages that use this one.
func (r *Rings) Corrupt() { r.out.produced.Store(^uint64(0)) }
