package shm

import (
	"errors"
	"sync/atomic"
)

// RingSize is what a direction holds, bytes; a power of two.
const RingSize = 256 << 10

// Where things are in a direction's part of the memory, bytes. Words that different processes write are two cache lines apart, for processors fetch lines in
// pairs.
const (
	headAt     = 0   // u64, the writer's: bytes written so far
	asideAt    = 8   // u32, the writer's; see record.go
	tailAt     = 128 // u64, the reader's: bytes read so far
	rejoinedAt = 136 // u32, the reader's
	awakeAt    = 256 // u32, the reader's
	rungAt     = 384 // u32, both
	wantAt     = 512 // u32, both
	dataAt     = 4096
	span       = dataAt + RingSize
)

// Size is what the memory of two directions takes, bytes.
const Size = 2 * span

// ErrBroken says that the peer has written positions that cannot be.
var ErrBroken = errors.New("the peer has broken the shared memory")

// ring is one direction.
type ring struct {
	head, tail        *atomic.Uint64
	awake, rung, want *atomic.Uint32
	aside, rejoined   *atomic.Uint32
	data              []byte
}

// call reports whether the reader of r is to be told by the bell that it should look.
func (r *ring) call() bool {
	return r.awake.Load() == 0 && r.rung.Load() == 0 && r.rung.CompareAndSwap(0, 1)
}

// End is one process' side of the memory. It is not safe for concurrent use.
type End struct {
	mem     []byte
	out, in ring
	head    uint64 // of out
	seen    uint64 // the tail of out when it was looked at last
	tail    uint64 // of in

	// Of records only.
	known                 uint64 // the head of in when it was looked at last
	asideOut, rejoinedOut uint32 // of out: own word, and what the peer said last
	rejoinedIn            uint32 // of in: own word
}

// New returns one side of mem, Size bytes, zero at first, 8-byte aligned: first for the process that made it, the other for the one it was given to.
func New(mem []byte, first bool) *End {
	a, b := ringOf(mem[:span]), ringOf(mem[span:Size])
	if !first {
		a, b = b, a
	}
	return &End{mem: mem, out: a, in: b}
}

// Write copies as much of b into the memory as there is room for, and returns how much that was.
func (e *End) Write(b []byte) (int, error) {
	room := RingSize - (e.head - e.seen)
	if room < uint64(len(b)) {
		if err := e.look(); err != nil {
			return 0, err
		}
		if room = RingSize - (e.head - e.seen); room == 0 {
			return 0, nil
		}
	}
	b = b[:min(uint64(len(b)), room)]
	n := copy(e.out.data[e.head%RingSize:], b)
	copy(e.out.data, b[n:])
	e.head += uint64(len(b))
	e.out.head.Store(e.head)
	return len(b), nil
}

// look sees how far the peer has read.
func (e *End) look() error {
	t := e.out.tail.Load()
	if e.head-t > RingSize {
		return ErrBroken
	}
	e.seen = t
	return nil
}

// Full asks for the bell when there is room, and reports whether there still is none.
func (e *End) Full() (bool, error) {
	e.out.want.Store(1)
	err := e.look()
	return e.head-e.seen == RingSize, err
}

// Written reports whether what was written calls for the bell.
func (e *End) Written() bool { return e.out.call() }

// Read copies what the peer has written into b, as much as there is, and returns how much that was. A bell that was rung for it has done its work.
func (e *End) Read(b []byte) (int, error) {
	n, err := e.Waiting()
	if n = min(n, len(b)); n <= 0 || err != nil {
		return 0, err
	}
	k := copy(b[:n], e.in.data[e.tail%RingSize:])
	copy(b[k:n], e.in.data)
	e.tail += uint64(n)
	e.in.tail.Store(e.tail)
	return n, nil
}

// Waiting returns how much Read would find. When it is nothing, the next that is written calls for the bell, unless SetAwake says otherwise.
func (e *End) Waiting() (int, error) {
	if e.in.rung.Load() != 0 {
		e.in.rung.Store(0)
	}
	n := e.in.head.Load() - e.tail
	if n > RingSize {
		return 0, ErrBroken
	}
	return int(n), nil
}

// Idle reports that there is nothing to read, as far as one that looks by itself needs to know: nothing is asked for, and a bell that was rung stays heard.
func (e *End) Idle() bool { return e.in.head.Load() == e.tail }

// Taken, after Read, reports whether what was read calls for the bell: the peer waits for room, and does not look by itself.
func (e *End) Taken() bool {
	return e.in.want.Load() != 0 && e.in.want.CompareAndSwap(1, 0) && e.out.call()
}

// SetAwake says whether this end looks by itself: again and again, at what is written and, if it has found no room, at that. Who stops must look once
// more.
func (e *End) SetAwake(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	e.in.awake.Store(v)
}
