//go:build linux

package xdp

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/xdp/frame"
)

// playedQueue returns a queue and a port of it. The test acts as the kernel.
func playedQueue(t *testing.T, rxFrames int) (q *queue, p *Port, rx, fill *kernelSide) {
	t.Helper()
	c := Config{Queues: 1, ChunkSize: 2048, RxFrames: rxFrames, TxFrames: 4}
	u, err := newUmem(1, &c)
	must(t, err)
	t.Cleanup(func() { u.close() })
	rx, fill = newKernelSide(uint32(rxFrames), entrySize[unix.XDPDesc]()), newKernelSide(uint32(fillSize(&c)), 8)
	s := &socket{fd: netx.NoFD}
	s.rx.ring, err = newRing[unix.XDPDesc](rx.mem, ringAt, uint32(rxFrames))
	must(t, err)
	s.fill.ring, err = newRing[uint64](fill.mem, ringAt, uint32(fillSize(&c)))
	must(t, err)
	i := &Interface{c: c, u: u}
	q = newQueue(i, s, 0)
	i.queues = []*queue{q}
	p = &Port{i: i, backlogs: make([]backlog, 1)}
	i.table.Store(&map[key]*Port{keyOf(live[0]): p})
	return q, p, rx, fill
}

// receives adds a descriptor to the receive ring, as the kernel does.
func (k *kernelSide) receives(d unix.XDPDesc) {
	n := k.word(ringAt.Producer)
	b := k.place(n)
	binary.NativeEndian.PutUint64(b, d.Addr)
	binary.NativeEndian.PutUint32(b[8:], d.Len)
	binary.NativeEndian.PutUint32(b[12:], d.Options)
	k.setWord(ringAt.Producer, n+1)
}

// TestWrongDescriptors: invalid descriptors from the kernel are counted, and none of them reaches the port. Valid
// ones do. Each chunk goes back to the kernel exactly once.
func TestWrongDescriptors(t *testing.T) {
	const chunks = 32
	q, p, rx, fill := playedQueue(t, chunks)
	b := packet(t, &place{mac: frame.MAC{2, 0, 0, 0, 0, 1}}, &place{mac: frame.MAC{2, 0, 0, 0, 0, 2}},
		netip.MustParseAddrPort("10.1.2.9:5"), live[0], []byte("text"))
	comes := func(chunk uint32) unix.XDPDesc {
		copy(q.u.whole(chunk)[headroom:], b)
		return unix.XDPDesc{Addr: q.u.address(chunk) + headroom, Len: uint32(len(b))}
	}
	rx.receives(comes(0))
	for _, d := range []unix.XDPDesc{
		comes(0), // the port has this chunk
		{Addr: uint64(len(q.u.mem)), Len: 64},
		{Addr: 1<<64 - 1, Len: 64},
		{Addr: q.u.address(chunks) + headroom, Len: 64}, // a chunk for transmitting
		{Addr: q.u.address(1) + headroom, Len: 2048},
	} {
		rx.receives(d)
	}
	rx.receives(comes(2))
	for n := range uint32(framesMax + 1) {
		d := comes(3 + n)
		if n < framesMax {
			d.Options = unix.XDP_PKT_CONTD
		}
		rx.receives(d)
	}
	rx.receives(comes(31))
	// More of this packet would follow.
	rx.receives(unix.XDPDesc{Addr: q.u.address(30), Len: 100, Options: unix.XDP_PKT_CONTD})
	var f [64]Frame
	n := q.receive(p, f[:])
	if n != 3 || f[0].chunk != 0 || f[1].chunk != 2 || f[2].chunk != 31 {
		t.Fatalf("%d frames: %+v", n, f[:n])
	}
	if got := q.in.count.invalid; got != 6 {
		t.Errorf("%d packets count as invalid, want 6", got)
	}
	if taken := rx.word(ringAt.Consumer); taken != rx.word(ringAt.Producer)-1 {
		t.Errorf("%d descriptors were consumed", taken)
	}
	q.release(p, f[:n])
	q.release(p, f[:n]) // these chunks are free already
	given := map[uint64]int{}
	for n := uint32(chunks); n < fill.word(ringAt.Producer); n++ { // after the chunks from the beginning
		given[binary.NativeEndian.Uint64(fill.place(n))]++
	}
	for c := range uint32(chunks) {
		want := 1
		if c > 2+framesMax+1 && c < 31 {
			want = 0 // never received
		}
		if got := given[q.u.address(c)]; got != want {
			t.Errorf("chunk %d was given back %d times, want %d", c, got, want)
		}
	}
}

// TestKick: a flush reports what the system did. It took all packets, had no room, or refused.
func TestKick(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	must(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	k := newKernelSide(8, entrySize[unix.XDPDesc]())
	s := &socket{fd: netx.FD(pair[0])}
	s.tx.ring, err = newRing[unix.XDPDesc](k.mem, ringAt, 8)
	must(t, err)
	k.setWord(ringAt.Producer, 3)
	if errno := s.kick(); errno != 0 {
		t.Errorf("no wakeup is needed: %v", errno)
	}
	k.setWord(ringAt.Flags, unix.XDP_RING_NEED_WAKEUP)
	if errno := s.kick(); errno != 0 {
		t.Errorf("room: %v", errno)
	}
	for unix.Send(pair[0], nil, unix.MSG_DONTWAIT) == nil { // until the socket's buffer is full
	}
	if errno := s.kick(); errno != unix.EAGAIN {
		t.Errorf("no room, and packets left: %v", errno)
	}
	k.setWord(ringAt.Consumer, 3)
	if errno := s.kick(); errno != 0 {
		t.Errorf("no room, and none left: %v", errno)
	}
	unix.Shutdown(pair[0], unix.SHUT_RDWR)
	if errno := s.kick(); errno != unix.EPIPE {
		t.Errorf("refused: %v", errno)
	}
}
