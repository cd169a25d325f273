package shm

import (
	"errors"
	"sync/atomic"
)

// RingSize is what a direction holds, bytes; a power of two.
const RingSize = 256 << 10

// The layout of a direction's part of the memory, bytes. Words that different processes write are two cache lines apart, for processors fetch lines in
// pairs.
const (
	producedAt      = 0   // u64, the producer's: bytes written so far
	viaSocketAt     = 8   // u32, the producer's; see records.go
	consumedAt      = 128 // u64, the consumer's: bytes read so far
	socketDrainedAt = 136 // u32, the consumer's
	pollsAt         = 256 // u32, the consumer's
	rungAt          = 384 // u32, both
	wantRoomAt      = 512 // u32, both
	dataAt          = 4096
	span            = dataAt + RingSize
)

// Size is what the memory of two directions takes, bytes.
const Size = 2 * span

// ErrBroken says that the peer has written positions or lengths that cannot be.
var ErrBroken = errors.New("the peer has broken the shared memory")

// ring is one direction.
type ring struct {
	produced, consumed       *atomic.Uint64
	polls, rung, wantRoom    *atomic.Uint32
	viaSocket, socketDrained *atomic.Uint32
	data                     []byte
}

// takeDoorbell reports whether the consumer of r needs the doorbell, which the caller then sends.
func (r *ring) takeDoorbell() bool {
	return r.polls.Load() == 0 && r.rung.Load() == 0 && r.rung.CompareAndSwap(0, 1)
}

// Rings are one process' side of the memory: it is the producer of one ring and the consumer of the other. They are not safe for concurrent use.
type Rings struct {
	mem          []byte
	out, in      ring
	produced     uint64 // in out
	peerConsumed uint64 // in out, when it was read last
	consumed     uint64 // in in

	// Of records only.
	peerProduced               uint64 // in in, when it was read last
	sentViaSocket, peerDrained uint32 // of out: own word, and the peer's when it was read last
	drained                    uint32 // of in: own word
}

// New returns one side of mem, which has Size bytes, is zero at first and 8-byte aligned: first for the process that made it, the other for the peer.
func New(mem []byte, first bool) *Rings {
	a, b := ringOf(mem[:span]), ringOf(mem[span:Size])
	if !first {
		a, b = b, a
	}
	return &Rings{mem: mem, out: a, in: b}
}

// Write copies as much of b into the memory as there is room for, and returns how much that was.
func (r *Rings) Write(b []byte) (int, error) {
	room := RingSize - (r.produced - r.peerConsumed)
	if room < uint64(len(b)) {
		if err := r.loadConsumed(); err != nil {
			return 0, err
		}
		if room = RingSize - (r.produced - r.peerConsumed); room == 0 {
			return 0, nil
		}
	}
	b = b[:min(uint64(len(b)), room)]
	n := copy(r.out.data[r.produced%RingSize:], b)
	copy(r.out.data, b[n:])
	r.produced += uint64(len(b))
	r.out.produced.Store(r.produced)
	return len(b), nil
}

// loadConsumed reads how far the peer has read.
func (r *Rings) loadConsumed() error {
	c := r.out.consumed.Load()
	if r.produced-c > RingSize {
		return ErrBroken
	}
	r.peerConsumed = c
	return nil
}

// WantRoom asks for the doorbell when there is room, and reports whether the ring is full still.
func (r *Rings) WantRoom() (full bool, err error) {
	r.out.wantRoom.Store(1)
	err = r.loadConsumed()
	return r.produced-r.peerConsumed == RingSize, err
}

// DoorbellAfterWrite reports whether the peer needs the doorbell for what was written.
func (r *Rings) DoorbellAfterWrite() bool { return r.out.takeDoorbell() }

// Read copies what the peer has written into b, as much as there is, and returns how much that was. The next write calls for a doorbell again.
func (r *Rings) Read(b []byte) (int, error) {
	n, err := r.Unread()
	if n = min(n, len(b)); n <= 0 || err != nil {
		return 0, err
	}
	k := copy(b[:n], r.in.data[r.consumed%RingSize:])
	copy(b[k:n], r.in.data)
	r.consumed += uint64(n)
	r.in.consumed.Store(r.consumed)
	return n, nil
}

// Unread returns how many bytes Read would find. When it is 0, the next write calls for the doorbell, unless this side polls (SetPolling).
func (r *Rings) Unread() (int, error) {
	if r.in.rung.Load() != 0 {
		r.in.rung.Store(0)
	}
	n := r.in.produced.Load() - r.consumed
	if n > RingSize {
		return 0, ErrBroken
	}
	return int(n), nil
}

// Empty reports that there is nothing to read. It is for a side that polls: unlike Unread it does not ask for a doorbell.
func (r *Rings) Empty() bool { return r.in.produced.Load() == r.consumed }

// DoorbellAfterRead reports whether the peer needs the doorbell for the room that Read has made: it waits for room, and does not poll.
func (r *Rings) DoorbellAfterRead() bool {
	return r.in.wantRoom.Load() != 0 && r.in.wantRoom.CompareAndSwap(1, 0) && r.out.takeDoorbell()
}

// SetPolling says whether this side polls: it looks again and again at what is written and, if it has found no room, at that. A side that stops must look once
// more afterwards.
func (r *Rings) SetPolling(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	r.in.polls.Store(v)
}
