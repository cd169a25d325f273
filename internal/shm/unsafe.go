package shm

import (
	"sync/atomic"
	"unsafe"
)

// ringOf returns the words and the data of a direction in its part of the memory.
func ringOf(mem []byte) ring {
	word := func(at int) unsafe.Pointer { return unsafe.Pointer(&mem[at]) }
	return ring{
		produced: (*atomic.Uint64)(word(producedAt)), consumed: (*atomic.Uint64)(word(consumedAt)),
		polls: (*atomic.Uint32)(word(pollsAt)), rung: (*atomic.Uint32)(word(rungAt)), wantRoom: (*atomic.Uint32)(word(wantRoomAt)),
		viaSocket: (*atomic.Uint32)(word(viaSocketAt)), socketDrained: (*atomic.Uint32)(word(socketDrainedAt)),
		data: mem[dataAt:span:span],
	}
}
