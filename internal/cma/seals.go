// Seals: marks beside the memory of a message that become invalid before the buffer is used again
// (docs/decisions/0023-seals.md). The receiver checks the seal after its copy, as with a sequence lock.

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
// A process that forks makes a copy of its memory, and after its death the copy may get its PID. Seals are
// therefore in memory that is zero in a copy (MADV_WIPEONFORK, madvise(2)): only this process ever holds a whole
// seal of its own.
type seals [256]slot

// kept are seals whose memory is used again when no pointer to it is left. It is never unmapped, because peers have
// its addresses.
type kept struct{ *seals }

// spare is a list of such memory.
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
		return new(seals) // before Linux 4.14: on the heap, whose objects do not move
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
// The numbers in a slot only increase. A whole seal has an even number, and breaking it adds one. A reader that
// loads the bytes of the number one by one, from the lowest address on, can therefore not compose an expected
// number of bytes of later ones (L. Lamport, Concurrent Reading and Writing, CACM 20/11, 1977). If a broken seal
// held 0, it could.
type slot struct {
	challenge atomic.Uint64 // the first half of the challenge
	number    atomic.Uint64
}

var (
	_ engine.Seals = (*seals)(nil)
	_ engine.Seals = (*kept)(nil)
)

// issued is the last number that a seal of this process has had.
var issued atomic.Uint64

// Set makes the seal of index i whole. It returns the number and the address of the seal.
func (s *seals) Set(i uint8, challenge *[engine.SealLen]byte) (number, at uint64) {
	number = issued.Add(2)
	t := &s[i]
	t.challenge.Store(binary.NativeEndian.Uint64(challenge[:8]))
	t.number.Store(little(number))
	return number, t.address()
}

// Break breaks the seal of index i, and orders this before everything that follows.
func (s *seals) Break(i uint8) {
	t := &s[i]
	t.number.Swap(little(little(t.number.Load()) | 1))
	// On x86 the swap alone is a barrier. Elsewhere it is a release, which a later store may overtake. The load
	// after it is an acquire, which neither overtakes the release nor is overtaken (Arm ARM B2.3,
	// "barrier-ordered-before": [L]; po; [A] and [A]; po).
	t.number.Load()
}

// little converts between a number and the value whose bytes in memory are its little-endian form.
func little(n uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	return binary.NativeEndian.Uint64(b[:])
}

// loadsFence orders all earlier loads, including the kernel's for this thread, before everything that follows. The
// store is a release after them, and the load an acquire that does not overtake the release.
func loadsFence() {
	var f atomic.Uint32
	f.Store(1)
	f.Load()
}
