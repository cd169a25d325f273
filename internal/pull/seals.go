package pull

import (
	"encoding/binary"
	"sync/atomic"

	"gofabric/internal/xnet/engine"
)

// seals implements engine.Seals. It is always in the heap, whose objects do not move, and addresses of it are given away only while something points to it.
type seals [256]slot

// slot is one seal. Both words are little-endian in memory.
//
// The numbers that a slot holds only rise: a whole seal has an even one, and to break it adds one. So a reader that takes the bytes of the number one by one,
// from the lowest address on, cannot put a number that it expects together from later ones (L. Lamport, Concurrent Reading and Writing, CACM 20/11, 1977).
// With 0 in the place of a broken seal's number it could.
type slot struct {
	challenge atomic.Uint64 // its first half
	number    atomic.Uint64
}

var _ engine.Seals = (*seals)(nil)

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
