package cma

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"

	"gofabric/internal/xnet/engine"
)

// seals implements engine.Seals.
//
// A process that forks makes a copy of its memory, and the copy may get the number of the process when that has died. So seals are in memory that is zero in a copy (MADV_WIPEONFORK,
// madvise(2)): no process but this one ever holds a whole seal of it.
type seals [256]slot

// kept is seals whose memory goes to the next ones when nothing points to it any more. It is never unmapped: addresses of it were given away.
type kept struct{ *seals }

// spare is such memory.
var spare struct {
	sync.Mutex
	list []*seals
}

// NewSeals returns memory for the seals of a connection.
func (Copier) NewSeals() engine.Seals {
	spare.Lock()
	defer spare.Unlock()
	var s *seals
	if n := len(spare.list); n > 0 {
		s, spare.list = spare.list[n-1], spare.list[:n-1]
	} else if s = mapSeals(); s == nil {
		return new(seals) // before Linux 4.14: of the heap, whose objects do not move
	}
	k := &kept{s}
	runtime.AddCleanup(k, func(s *seals) {
		spare.Lock()
		defer spare.Unlock()
		spare.list = append(spare.list, s)
	}, s)
	return k
}

// slot is one seal. Both words are little-endian in memory.
//
// The numbers that a slot holds only rise: a whole seal has an even one, and to break it adds one. So a reader that takes the bytes of the number one by one,
// from the lowest address on, cannot put a number that it expects together from later ones (L. Lamport, Concurrent Reading and Writing, CACM 20/11, 1977).
// With 0 in the place of a broken seal's number it could.
type slot struct {
	challenge atomic.Uint64 // its first half
	number    atomic.Uint64
}

var (
	_ engine.Seals = (*seals)(nil)
	_ engine.Seals = (*kept)(nil)
)

// issued is the last number of a seal of this process.
var issued atomic.Uint64

// Set makes the seal of index i whole, and returns its number and its address.
func (s *seals) Set(i uint8, challenge *[engine.SealLen]byte) (number, at uint64) {
	number = issued.Add(2)
	t := &s[i]
	t.challenge.Store(binary.NativeEndian.Uint64(challenge[:8]))
	t.number.Store(little(number))
	return number, t.address()
}

// Break breaks the seal of index i before anything that follows it.
func (s *seals) Break(i uint8) {
	t := &s[i]
	t.number.Swap(little(little(t.number.Load()) | 1))
	// On x86 the swap alone is a barrier. Elsewhere it is a release, which a later store may overtake; the load behind it is an acquire, which may not
	// overtake the release, nor be overtaken (Arm ARM B2.3, "barrier-ordered-before": [L]; po; [A] and [A]; po).
	t.number.Load()
}

// little turns a number into what has its little-endian bytes in memory, and back.
func little(n uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	return binary.NativeEndian.Uint64(b[:])
}

// loadsFence orders all loads before it, the kernel's for this thread included, before all that follow: the store is a release behind them, and the load an acquire
// that does not overtake the release.
func loadsFence() {
	var f atomic.Uint32
	f.Store(1)
	f.Load()
}
