//go:build linux

package xdp

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// ringAt has offsets similar to those of the kernel.
var ringAt = unix.XDPRingOffset{Producer: 0, Consumer: 64, Flags: 128, Desc: 192}

// kernelSide is the kernel's side of a ring. It computes counts and places from the memory alone.
type kernelSide struct {
	mem   []byte
	size  uint32
	bytes int // size of an entry
}

func newKernelSide(size uint32, bytes int) *kernelSide {
	return &kernelSide{make([]byte, 192+int(size)*bytes), size, bytes}
}

func (k *kernelSide) word(off uint64) uint32       { return binary.NativeEndian.Uint32(k.mem[off:]) }
func (k *kernelSide) setWord(off uint64, n uint32) { binary.NativeEndian.PutUint32(k.mem[off:], n) }

// place returns the memory of an entry.
func (k *kernelSide) place(n uint32) []byte { return k.mem[192+int(n%k.size)*k.bytes:][:k.bytes] }

// start sets both counts of an empty ring.
func (k *kernelSide) start(n uint32) {
	k.setWord(ringAt.Producer, n)
	k.setWord(ringAt.Consumer, n)
}

// TestProducer: entries arrive in order and unchanged, only after they are published, and for any start of the
// counts.
func TestProducer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := uint32(1) << rapid.IntRange(0, 5).Draw(t, "size")
		k := newKernelSide(size, 8)
		begin := rapid.OneOf(rapid.Just(uint32(0)), rapid.Just(-size/2), rapid.Uint32()).Draw(t, "begin")
		k.start(begin)
		r, err := newRing[uint64](k.mem, ringAt, size)
		if err != nil {
			t.Fatal(err)
		}
		p := producerRing[uint64]{r}
		p.next = begin
		var put, published, taken uint64
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				if put-taken == uint64(size) {
					t.Skip("full")
				}
				p.put(put ^ 0xfeed<<48)
				put++
			},
			"publish": func(*rapid.T) { p.publish(); published = put },
			"consume": func(t *rapid.T) {
				if k.word(ringAt.Producer) == k.word(ringAt.Consumer) {
					t.Skip("empty")
				}
				n := k.word(ringAt.Consumer)
				if v := binary.NativeEndian.Uint64(k.place(n)); v != taken^0xfeed<<48 {
					t.Fatalf("%x at %d, want number %d", v, n, taken)
				}
				taken++
				k.setWord(ringAt.Consumer, n+1)
			},
			"": func(t *rapid.T) {
				if n := k.word(ringAt.Producer) - begin; n != uint32(published) {
					t.Fatalf("%d are published, want %d", n, published)
				}
				if n := p.unconsumed(); uint64(n) != published-taken {
					t.Fatalf("%d unconsumed, want %d", n, published-taken)
				}
			},
		})
	})
}

// TestConsumer: entries of the kernel are read in order and unchanged, peeked at any depth, and their places are free
// only after they are released.
func TestConsumer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := uint32(1) << rapid.IntRange(0, 5).Draw(t, "size")
		k := newKernelSide(size, 16)
		begin := rapid.OneOf(rapid.Just(uint32(0)), rapid.Just(-size/2), rapid.Uint32()).Draw(t, "begin")
		k.start(begin)
		r, err := newRing[unix.XDPDesc](k.mem, ringAt, size)
		if err != nil {
			t.Fatal(err)
		}
		c := consumerRing[unix.XDPDesc]{r}
		c.next, c.seen = begin, begin
		var produced, taken, released uint64
		t.Repeat(map[string]func(*rapid.T){
			"produce": func(t *rapid.T) {
				if produced-released == uint64(size) {
					t.Skip("full")
				}
				n := k.word(ringAt.Producer)
				at := k.place(n)
				binary.NativeEndian.PutUint64(at, produced<<11)
				binary.NativeEndian.PutUint32(at[8:], uint32(produced))
				binary.NativeEndian.PutUint32(at[12:], uint32(produced)&1)
				k.setWord(ringAt.Producer, n+1)
				produced++
			},
			"take": func(t *rapid.T) {
				n := c.available(size)
				if uint64(n) != produced-taken {
					t.Fatalf("%d available, want %d", n, produced-taken)
				}
				for i := range n {
					v := taken + uint64(i)
					if d, want := c.peek(i), (unix.XDPDesc{Addr: v << 11, Len: uint32(v),
						Options: uint32(v) & 1}); d != want {
						t.Fatalf("%+v, want %+v", d, want)
					}
				}
				m := rapid.Uint32Range(0, n).Draw(t, "n")
				c.take(m)
				taken += uint64(m)
			},
			"little": func(t *rapid.T) {
				if n := c.available(1); n == 0 && produced > taken || uint64(n) > produced-taken {
					t.Fatalf("%d available of %d", n, produced-taken)
				}
			},
			"release": func(*rapid.T) { c.release(); released = taken },
			"": func(t *rapid.T) {
				if n := k.word(ringAt.Consumer) - begin; n != uint32(released) {
					t.Fatalf("%d are released, want %d", n, released)
				}
				if c.empty() != (produced == released) {
					t.Fatalf("empty is %v at %d, %d", c.empty(), produced, released)
				}
			},
		})
	})
}

// TestRingBetweenThreads passes entries through two rings to a kernel in another thread and back, as the fill and
// receive rings do. The race detector checks it, too.
func TestRingBetweenThreads(t *testing.T) {
	const size, total = 8, 20_000
	there, back := newKernelSide(size, 8), newKernelSide(size, 8)
	r1, err := newRing[uint64](there.mem, ringAt, size)
	must(t, err)
	r2, err := newRing[uint64](back.mem, ringAt, size)
	must(t, err)
	p, c := producerRing[uint64]{r1}, consumerRing[uint64]{r2}
	// The kernel's sides of both rings have their own views.
	k1, err := newRing[uint64](there.mem, ringAt, size)
	must(t, err)
	k2, err := newRing[uint64](back.mem, ringAt, size)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := uint32(0); n < total; n++ {
			for atomic.LoadUint32(k1.producer) == n || n-atomic.LoadUint32(k2.consumer) == size {
				runtime.Gosched()
			}
			k2.entries[n%size] = k1.entries[n%size] * 3
			atomic.StoreUint32(k1.consumer, n+1)
			atomic.StoreUint32(k2.producer, n+1)
		}
	}()
	for sent, got := uint64(0), uint64(0); got < total; {
		for sent < total && sent-got < size {
			p.put(sent)
			sent++
		}
		p.publish()
		n := c.available(size)
		for i := range n {
			if v := c.peek(i); v != got*3 {
				t.Fatalf("%d, want %d", v, got*3)
			}
			got++
		}
		c.take(n)
		c.release()
		if n == 0 {
			runtime.Gosched()
		}
	}
	<-done
}

func TestNeedsWakeup(t *testing.T) {
	k := newKernelSide(4, 8)
	r, err := newRing[uint64](k.mem, ringAt, 4)
	must(t, err)
	for _, flags := range []uint32{0, unix.XDP_RING_NEED_WAKEUP, 0, 1 << 5, 1<<5 | unix.XDP_RING_NEED_WAKEUP} {
		k.setWord(ringAt.Flags, flags)
		if r.needsWakeup() != (flags&1 == 1) {
			t.Errorf("flags %x: %v", flags, r.needsWakeup())
		}
	}
}

// TestRingOutside: offsets outside of the memory are refused.
func TestRingOutside(t *testing.T) {
	k := newKernelSide(4, 8)
	for _, c := range []struct {
		change func(*unix.XDPRingOffset)
		size   uint32
	}{
		{func(o *unix.XDPRingOffset) { o.Producer = uint64(len(k.mem)) }, 4},
		{func(o *unix.XDPRingOffset) { o.Producer = 1<<64 - 4 }, 4},
		{func(o *unix.XDPRingOffset) { o.Consumer = 2 }, 4},
		{func(o *unix.XDPRingOffset) { o.Flags = uint64(len(k.mem)) - 3 }, 4},
		{func(o *unix.XDPRingOffset) { o.Desc += 8 }, 4},
		{func(o *unix.XDPRingOffset) { o.Desc = 1<<64 - 8 }, 4},
		{func(o *unix.XDPRingOffset) {}, 8},
		{func(o *unix.XDPRingOffset) {}, 3},
		{func(o *unix.XDPRingOffset) {}, 0},
		{func(o *unix.XDPRingOffset) {}, 1 << 31},
	} {
		at := ringAt
		c.change(&at)
		if _, err := newRing[uint64](k.mem, at, c.size); err == nil {
			t.Errorf("%+v with %d entries is accepted", at, c.size)
		}
	}
}

func TestUmem(t *testing.T) {
	c := Config{ChunkSize: 2048, RxFrames: 4, TxFrames: 2}
	u, err := newUmem(2, &c)
	must(t, err)
	defer u.close()
	if len(u.mem) != 2*6*2048 || u.chunkOf(u.address(7)) != 7 || u.chunkOf(u.address(7)+2047) != 7 ||
		u.chunkOf(1<<63) != 1<<32-1 {
		t.Errorf("%d bytes", len(u.mem))
	}
	end := uint64(len(u.mem))
	for _, x := range []struct {
		d  unix.XDPDesc
		ok bool
	}{
		{unix.XDPDesc{Addr: 0, Len: 2048}, true}, {unix.XDPDesc{Addr: end - 2048, Len: 2048}, true},
		{unix.XDPDesc{Addr: 256, Len: 1792}, true},
		{unix.XDPDesc{Addr: 256, Len: 1793}, false}, {unix.XDPDesc{Addr: end, Len: 1}, false},
		{unix.XDPDesc{Addr: 0, Len: 1<<32 - 1}, false},
		{unix.XDPDesc{Addr: 1<<64 - 1, Len: 1}, false},
	} {
		if b := u.slice(x.d); (b != nil) != x.ok || x.ok && (len(b) != int(x.d.Len) || cap(b) != len(b)) {
			t.Errorf("%+v: %d bytes", x.d, len(b))
		}
	}
	b := u.whole(3)
	for _, x := range []struct {
		b   []byte
		off uint32
		ok  bool
	}{
		{b, 0, true}, {b[:10], 0, true}, {b[100:110], 100, true}, {b[2047:], 2047, true},
		{b[2048:], 0, false}, {nil, 0, false}, {make([]byte, 2048), 0, false}, {u.whole(4), 0, false},
		{b[:10:10], 0, false}, {make([]byte, 9000), 0, false},
	} {
		if off, ok := u.offset(3, x.b); ok != x.ok || ok && off != x.off {
			t.Errorf("%d, %v; want %d, %v", off, ok, x.off, x.ok)
		}
	}
	f := newChunkStack(4, 3)
	for _, want := range []uint32{4, 5, 6} {
		if c, ok := f.pop(); !ok || c != want {
			t.Errorf("chunk %d, %v, want %d", c, ok, want)
		}
	}
	if _, ok := f.pop(); ok {
		t.Error("a chunk from an empty stack")
	}
}
