// One direction is a ring of bytes with one producer and one consumer, which share only their positions. Positions
// count all bytes ever written or read, so a full ring differs from an empty one.

package shm

import (
	"errors"
	"sync/atomic"
)

// RingSize is the capacity of a direction in bytes, a power of two.
const RingSize = 256 << 10

// The layout of a direction's part of the memory, in bytes. Words that different processes write are two cache
// lines apart, because processors prefetch lines in pairs.
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

// Size is the memory of two directions, in bytes.
const Size = 2 * span

// ErrBroken means that the peer has written impossible positions or lengths.
var ErrBroken = errors.New("the peer has broken the shared memory")

// ring is one direction.
type ring struct {
	produced, consumed       *atomic.Uint64
	polls, rung, wantRoom    *atomic.Uint32
	viaSocket, socketDrained *atomic.Uint32
	data                     []byte
}

// takeDoorbell reports whether the consumer of r needs the doorbell. The caller then sends it.
func (r *ring) takeDoorbell() bool {
	return r.polls.Load() == 0 && r.rung.Load() == 0 && r.rung.CompareAndSwap(0, 1)
}

// Rings are one process' side of the memory. It is the producer of one ring and the consumer of the other. Rings
// are not safe for concurrent use.
type Rings struct {
	mem          []byte
	out, in      ring
	produced     uint64 // in out
	peerConsumed uint64 // position in out, as last read
	consumed     uint64 // in in

	// For records only.
	peerProduced               uint64 // position in in, as last read
	sentViaSocket, peerDrained uint32 // of out: this side's word, and the peer's as last read
	drained                    uint32 // of in: this side's word
}

// New returns one side of mem, which has Size bytes, is zero at first and 8-byte aligned. The process that made it
// passes true for first, its peer false.
func New(mem []byte, first bool) *Rings {
	a, b := ringOf(mem[:span]), ringOf(mem[span:Size])
	if !first {
		a, b = b, a
	}
	return &Rings{mem: mem, out: a, in: b}
}

// Write copies as much of b into the memory as there is room for, and returns the number of bytes.
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

// loadConsumed reads the peer's read position.
func (r *Rings) loadConsumed() error {
	c := r.out.consumed.Load()
	if r.produced-c > RingSize {
		return ErrBroken
	}
	r.peerConsumed = c
	return nil
}

// WantRoom asks for the doorbell when there is room. It reports whether the ring is still full.
func (r *Rings) WantRoom() (full bool, err error) {
	r.out.wantRoom.Store(1)
	err = r.loadConsumed()
	return r.produced-r.peerConsumed == RingSize, err
}

// DoorbellAfterWrite reports whether the peer needs the doorbell for data that was written.
func (r *Rings) DoorbellAfterWrite() bool { return r.out.takeDoorbell() }

// Read copies bytes that the peer has written into b, and returns their number. The peer's next write needs a
// doorbell again.
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

// Unread returns how many bytes Read would return. If it is 0, the peer's next write needs the doorbell, unless
// this side polls (SetPolling).
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

// Empty reports that there is nothing to read. It is for a side that polls: unlike Unread it does not request a
// doorbell.
func (r *Rings) Empty() bool { return r.in.produced.Load() == r.consumed }

// DoorbellAfterRead reports whether the peer needs the doorbell for the room that Read has made: it waits for room
// and does not poll.
func (r *Rings) DoorbellAfterRead() bool {
	return r.in.wantRoom.Load() != 0 && r.in.wantRoom.CompareAndSwap(1, 0) && r.out.takeDoorbell()
}

// SetPolling sets whether this side polls: whether it repeatedly reads the ring, and, after it has found no room,
// the room. A side that stops polling must do so once more afterwards.
func (r *Rings) SetPolling(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	r.in.polls.Store(v)
}
