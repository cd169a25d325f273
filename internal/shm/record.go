package shm

import "encoding/binary"

// Beside a stream the memory can carry records, datagrams or runs of them, all or nothing each; never both in one direction. For those who have a second way
// to the peer, a socket, and send there what finds no room here or a peer that is asleep, two words keep the order:
//
//	aside    the writer has sent that many by the other way
//	rejoined the reader knows that so many of them are all that can come there
//
// The writer writes no record while the two differ, so that none overtakes what is under way; the reader sees that there is something on the other way
// without asking the system.

const (
	recordHead  = 8 // u32 length, u32 length of each datagram of a run, little-endian
	recordAlign = 8 // so that a head is never cut in two by the end of the ring

	// RecordMax is the longest record, bytes.
	RecordMax = 1 << 16
)

// recordSpan is what a record takes in the ring.
func recordSpan(n uint64) uint64 { return (recordHead + n + recordAlign - 1) &^ (recordAlign - 1) }

// Put writes parts, total bytes together, as one record with a mark, and reports whether there was room for it.
func (e *End) Put(parts [][]byte, total int, mark uint32) (bool, error) {
	need := recordSpan(uint64(total))
	if RingSize-(e.head-e.seen) < need {
		if err := e.look(); err != nil || RingSize-(e.head-e.seen) < need {
			return false, err
		}
	}
	at := e.head % RingSize
	binary.LittleEndian.PutUint32(e.out.data[at:], uint32(total))
	binary.LittleEndian.PutUint32(e.out.data[at+4:], mark)
	at += recordHead
	for _, b := range parts {
		n := copy(e.out.data[at%RingSize:], b)
		copy(e.out.data, b[n:])
		at += uint64(len(b))
	}
	e.head += need
	e.out.head.Store(e.head)
	return true, nil
}

// Peek looks for records that the peer has written meanwhile, and reports whether there are any that Take would find.
func (e *End) Peek() (bool, error) {
	if e.known == e.tail {
		h := e.in.head.Load()
		if n := h - e.tail; n > RingSize || n%recordAlign != 0 {
			return false, ErrBroken
		}
		e.known = h
	}
	return e.known != e.tail, nil
}

// Take copies the next record of those that Peek has found into b, which has room for RecordMax bytes. more is false when there is none. The room is the
// peer's again after Took.
func (e *End) Take(b []byte) (n int, mark uint32, more bool, err error) {
	have := e.known - e.tail
	if have == 0 {
		return 0, 0, false, nil
	}
	var head [recordHead]byte
	copy(head[:], e.in.data[e.tail%RingSize:]) // once: the peer may change it at any time
	size := binary.LittleEndian.Uint32(head[:])
	mark = binary.LittleEndian.Uint32(head[4:])
	span := recordSpan(uint64(size))
	if size > RecordMax || span > have {
		return 0, 0, false, ErrBroken
	}
	n = int(size)
	k := copy(b[:n], e.in.data[(e.tail+recordHead)%RingSize:])
	copy(b[k:n], e.in.data)
	e.tail += span
	return n, mark, true, nil
}

// Took gives the room of what was taken back to the peer.
func (e *End) Took() { e.in.tail.Store(e.tail) }

// PeerAwake reports whether the peer looks by itself. Who has written a record looks once more: if it does not any more, it wants the bell.
func (e *End) PeerAwake() bool { return e.out.awake.Load() != 0 }

// SentAside says that something was sent by the other way: it has left.
func (e *End) SentAside() {
	e.asideOut++
	e.out.aside.Store(e.asideOut)
}

// Rejoined reports whether the peer knows that nothing is under way on the other way any more.
func (e *End) Rejoined() bool {
	if e.rejoinedOut != e.asideOut {
		e.rejoinedOut = e.out.rejoined.Load()
	}
	return e.rejoinedOut == e.asideOut
}

// Aside returns how much the peer has sent by the other way, to be passed to SetRejoined when that way was found to be empty afterwards; and whether that is
// news.
func (e *End) Aside() (upTo uint32, news bool) {
	upTo = e.in.aside.Load()
	return upTo, upTo != e.rejoinedIn
}

// SetRejoined says that of what the peer has sent by the other way, so many as of Aside, all that can come has come.
func (e *End) SetRejoined(upTo uint32) {
	e.rejoinedIn = upTo
	e.in.rejoined.Store(upTo)
}

// Spoil writes what cannot be, so that the peer finds the memory broken. It is for tests of those who use it.
func (e *End) Spoil() { e.out.head.Store(^uint64(0)) }
