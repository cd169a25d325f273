package shm

import (
	"sync/atomic"
	"unsafe"
)

// ringOf finds the words and the data of a direction in its part of the memory.
func ringOf(mem []byte) ring {
	word := func(at int) unsafe.Pointer { return unsafe.Pointer(&mem[at]) }
	return ring{
		head: (*atomic.Uint64)(word(headAt)), tail: (*atomic.Uint64)(word(tailAt)),
		awake: (*atomic.Uint32)(word(awakeAt)), rung: (*atomic.Uint32)(word(rungAt)), want: (*atomic.Uint32)(word(wantAt)),
		aside: (*atomic.Uint32)(word(asideAt)), rejoined: (*atomic.Uint32)(word(rejoinedAt)),
		data: mem[dataAt:span:span],
	}
}
