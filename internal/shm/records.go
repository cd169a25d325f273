package shm

import "encoding/binary"

// Instead of a stream a direction can carry records, each written as a whole or not at all: datagrams, or GSO
// batches of them. The two processes also have a socket to each other. It carries the datagrams that find no room
// here, and those sent while the peer does not poll. Two words keep the order:
//
//	viaSocket      how many the producer has sent through the socket
//	socketDrained  of how many of them the consumer knows that they have come, or never will
//
// The producer writes no record while the two differ, so that no record overtakes datagrams in the socket. The
// words also show the consumer, without a system call, that its socket may hold datagrams.

const (
	recordHead  = 8 // u32 length, u32 length of each datagram of a batch, little-endian
	recordAlign = 8 // so that a head never wraps around the end of the ring

	// RecordMax is the longest record, in bytes.
	RecordMax = 1 << 16
)

// recordSpan returns the bytes that a record of n bytes takes in the ring.
func recordSpan(n uint64) uint64 { return (recordHead + n + recordAlign - 1) &^ (recordAlign - 1) }

// WriteRecord writes parts, of total bytes, as one record with a mark. It reports whether there was room.
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

// HasRecord reports whether ReadRecord would return a record. It reads the peer's position if all known records
// were read.
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

// ReadRecord copies the next record that HasRecord has found into b, which has room for RecordMax bytes. ok is
// false when there is none. The peer can use the room of the record again after FreeRecords.
func (r *Rings) ReadRecord(b []byte) (n int, mark uint32, ok bool, err error) {
	have := r.peerProduced - r.consumed
	if have == 0 {
		return 0, 0, false, nil
	}
	var head [recordHead]byte
	copy(head[:], r.in.data[r.consumed%RingSize:]) // copied once, as the peer may change it at any time
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

// FreeRecords returns the room of the read records to the peer.
func (r *Rings) FreeRecords() { r.in.consumed.Store(r.consumed) }

// PeerPolls reports whether the peer polls. It must be called once more after a record was written: a peer that has
// stopped polling meanwhile needs the doorbell.
func (r *Rings) PeerPolls() bool { return r.out.polls.Load() != 0 }

// SentViaSocket counts one datagram that this side has sent through the socket.
func (r *Rings) SentViaSocket() {
	r.sentViaSocket++
	r.out.viaSocket.Store(r.sentViaSocket)
}

// SocketDrained reports whether the peer knows that no datagram that was sent through the socket is still in
// flight.
func (r *Rings) SocketDrained() bool {
	if r.peerDrained != r.sentViaSocket {
		r.peerDrained = r.out.socketDrained.Load()
	}
	return r.peerDrained == r.sentViaSocket
}

// PeerSentViaSocket returns how many datagrams the peer has sent through the socket. The caller passes the number
// to SetSocketDrained after it has found the socket empty. news reports that the number is not drained yet.
func (r *Rings) PeerSentViaSocket() (upTo uint32, news bool) {
	upTo = r.in.viaSocket.Load()
	return upTo, upTo != r.drained
}

// SetSocketDrained reports to the peer that no datagram sent through the socket, up to that number of
// PeerSentViaSocket, can still come.
func (r *Rings) SetSocketDrained(upTo uint32) {
	r.drained = upTo
	r.in.socketDrained.Store(upTo)
}

// Corrupt writes an impossible position, so that the peer finds the memory broken. It is for tests of packages that
// use this one.
func (r *Rings) Corrupt() { r.out.produced.Store(^uint64(0)) }
