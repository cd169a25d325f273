//go:build linux

package xdp

import (
	"golang.org/x/sys/unix"
)

// umem is the memory that the kernel and this process share. It has chunks of equal size, each with a packet or a
// part of one. Every queue of the interface has an equal part of it. The first rxFrames chunks of a part are for
// receiving, and the others for transmitting, so queues share no lock.
type umem struct {
	mapped   []byte // all of it
	mem      []byte // from a boundary of huge pages on
	shift    uint8  // log2 of the chunk size
	perQueue uint32
}

// newUmem makes the memory of the given number of queues. It is anonymous, and in huge pages if the system has them
// (MADV_HUGEPAGE). Packets are 2048 or 4096 bytes apart, so each is on another small page, and finding those costs a
// ping-pong of two cores 3 %. The kernel populates the memory when it pins the pages (XDP_UMEM_REG).
func newUmem(queues int, c *Config) (*umem, error) {
	u := &umem{perQueue: uint32(c.RxFrames + c.TxFrames), shift: shiftOf(c)}
	size := queues * int(u.perQueue) << u.shift
	var err error
	if u.mapped, err = unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE); err != nil {
		return u, err
	}
	from := toBoundary(u.mapped, hugePage)
	u.mem = u.mapped[from : from+size : from+size]
	unix.Madvise(u.mem, unix.MADV_HUGEPAGE) // the kernel may ignore it
	return u, nil
}

// shiftOf returns log2 of the chunk size.
func shiftOf(c *Config) (shift uint8) {
	for 1<<shift < c.ChunkSize {
		shift++
	}
	return shift
}

// hugePage is the usual size of a huge page. On other systems it is a harmless boundary.
const hugePage = 2 << 20

func (u *umem) close() error { return unix.Munmap(u.mapped) }

// chunkSize returns the size of a chunk in bytes.
func (u *umem) chunkSize() uint32 { return 1 << u.shift }

// address returns the start of a chunk as the kernel counts it.
func (u *umem) address(chunk uint32) uint64 { return uint64(chunk) << u.shift }

// chunkOf returns the chunk of an address, which may be any number.
func (u *umem) chunkOf(addr uint64) uint32 { return uint32(min(addr>>u.shift, 1<<32-1)) }

// whole returns all of a chunk.
func (u *umem) whole(chunk uint32) []byte {
	at := int(chunk) << u.shift
	end := at + 1<<u.shift
	return u.mem[at:end:end]
}

// slice returns the memory of a descriptor, or nil if that is not within one chunk.
func (u *umem) slice(d unix.XDPDesc) []byte {
	size := uint64(1) << u.shift
	if d.Addr >= uint64(len(u.mem)) || d.Addr&(size-1)+uint64(d.Len) > size {
		return nil
	}
	end := d.Addr + uint64(d.Len)
	return u.mem[d.Addr:end:end]
}

// offset returns the start of b within a chunk. ok is false if b is not a part of it.
func (u *umem) offset(chunk uint32, b []byte) (off uint32, ok bool) {
	// Two slices of one array end where their capacities do, so no address is compared.
	size := 1 << u.shift
	off = uint32(size - cap(b))
	return off, cap(b) > 0 && cap(b) <= size && &u.whole(chunk)[off] == &b[:1][0]
}

// chunkStack is a stack of free chunks of one queue. It is filled once and never grows.
type chunkStack struct{ free []uint32 }

// newChunkStack returns a stack of the n chunks from first on.
func newChunkStack(first, n uint32) chunkStack {
	f := chunkStack{make([]uint32, 0, n)}
	for c := first + n; c > first; c-- {
		f.free = append(f.free, c-1)
	}
	return f
}

// pop returns a free chunk. ok is false if there is none.
func (f *chunkStack) pop() (chunk uint32, ok bool) {
	if len(f.free) == 0 {
		return 0, false
	}
	chunk = f.free[len(f.free)-1]
	f.free = f.free[:len(f.free)-1]
	return chunk, true
}

// push frees a chunk. The last one is used next, because it is in the cache.
func (f *chunkStack) push(chunk uint32) { f.free = append(f.free, chunk) }
