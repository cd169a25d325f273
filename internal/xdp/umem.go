//go:build linux

package xdp

import (
	"golang.org/x/sys/unix"
)

// umem is the memory that the kernel and this process share: chunks of equal size, each of which holds a packet or a part of one. Every queue of the interface
// has an equal part of it, the first rxFrames chunks of which are for receiving, the others for transmitting, so that queues share no lock.
type umem struct {
	mapped   []byte // all of it
	mem      []byte // from the boundary of a huge page on
	shift    uint8  // log2 of the chunk size
	perQueue uint32
}

// newUmem makes memory for so many queues. It is anonymous, and in huge pages where the system gives them (MADV_HUGEPAGE): packets lie 2048 or 4096 bytes apart, so that
// each is on another small page, and finding those costs a ping-pong of two cores 3 %. The kernel populates it when it pins the pages (XDP_UMEM_REG).
func newUmem(queues int, c *Config) (*umem, error) {
	u := &umem{perQueue: uint32(c.RxFrames + c.TxFrames), shift: shiftOf(c)}
	size := queues * int(u.perQueue) << u.shift
	var err error
	if u.mapped, err = unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE); err != nil {
		return u, err
	}
	from := toBoundary(u.mapped, hugePage)
	u.mem = u.mapped[from : from+size : from+size]
	unix.Madvise(u.mem, unix.MADV_HUGEPAGE) // a wish
	return u, nil
}

// shiftOf is log2 of the chunk size.
func shiftOf(c *Config) (shift uint8) {
	for 1<<shift < c.ChunkSize {
		shift++
	}
	return shift
}

// hugePage is the size of a huge page, or a boundary that does no harm.
const hugePage = 2 << 20

func (u *umem) close() error { return unix.Munmap(u.mapped) }

// chunkSize is the size of a chunk in bytes.
func (u *umem) chunkSize() uint32 { return 1 << u.shift }

// address is where a chunk begins, in the kernel's terms.
func (u *umem) address(chunk uint32) uint64 { return uint64(chunk) << u.shift }

// chunkOf is the chunk that an address lies in; the address may be any number.
func (u *umem) chunkOf(addr uint64) uint32 { return uint32(min(addr>>u.shift, 1<<32-1)) }

// whole is all of a chunk.
func (u *umem) whole(chunk uint32) []byte {
	at := int(chunk) << u.shift
	end := at + 1<<u.shift
	return u.mem[at:end:end]
}

// slice is what a descriptor describes, nil if that is not within one chunk.
func (u *umem) slice(d unix.XDPDesc) []byte {
	size := uint64(1) << u.shift
	if d.Addr >= uint64(len(u.mem)) || d.Addr&(size-1)+uint64(d.Len) > size {
		return nil
	}
	end := d.Addr + uint64(d.Len)
	return u.mem[d.Addr:end:end]
}

// offset is where b, a part of a chunk, begins in it; ok is false if b is no part of it.
func (u *umem) offset(chunk uint32, b []byte) (off uint32, ok bool) {
	// Two slices of one array end where their capacities do: no address is compared.
	size := 1 << u.shift
	off = uint32(size - cap(b))
	return off, cap(b) > 0 && cap(b) <= size && &u.whole(chunk)[off] == &b[:1][0]
}

// chunkStack is a stack of free chunks of one queue. It is filled once and never grows.
type chunkStack struct{ free []uint32 }

// newChunkStack is the chunks from first on.
func newChunkStack(first, n uint32) chunkStack {
	f := chunkStack{make([]uint32, 0, n)}
	for c := first + n; c > first; c-- {
		f.free = append(f.free, c-1)
	}
	return f
}

// pop takes a chunk; ok is false if there is none.
func (f *chunkStack) pop() (chunk uint32, ok bool) {
	if len(f.free) == 0 {
		return 0, false
	}
	chunk = f.free[len(f.free)-1]
	f.free = f.free[:len(f.free)-1]
	return chunk, true
}

// push gives a chunk back. The one used last is used next: it is in the cache.
func (f *chunkStack) push(chunk uint32) { f.free = append(f.free, chunk) }
