//go:build linux

package xdp

import (
	"bytes"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
)

// readable reports whether a port's descriptor is readable now.
func readable(t *testing.T, p *Port) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.FD()), Events: unix.POLLIN}}, 0)
	must(t, err)
	return n == 1
}

// until calls f until it returns true.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// arrived returns the number of descriptors in a queue's receive ring.
func arrived(q *queue) int { return int(*q.s.rx.producer - *q.s.rx.consumer) }

// TestTwoPorts: each of two ports receives its own packets in order. It does not matter which of them reads the ring.
func TestTwoPorts(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := []netip.AddrPort{netip.AddrPortFrom(a.v4, 7001), netip.AddrPortFrom(a.v4, 7002)}
	i, p := openPort(t, a, Config{RxFrames: 256}, at[0])
	j, o := openPort(t, a, Config{Mode: Generic}, at[1])
	if i != j {
		t.Fatal("two interfaces")
	}
	if _, err := i.Bind(at[1]); !errors.Is(err, AddressTaken) {
		t.Errorf("bound twice: %v", err)
	}
	if _, err := i.Bind(netip.AddrPortFrom(netip.IPv4Unspecified(), 7001)); !errors.Is(err, AddressTaken) {
		t.Errorf("bound twice: %v", err)
	}
	s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
	const each = 20
	send := func() {
		t.Helper()
		for n := range each {
			for k := range at {
				_, err := s.WriteToUDPAddrPort([]byte{byte(n), byte(k)}, at[k])
				must(t, err)
			}
		}
		until(t, "arrival", func() bool { return arrived(i.queues[0]) == 2*each })
	}
	check := func(p *Port, sender byte) {
		t.Helper()
		var f [8]Frame
		for n := 0; n < each; {
			k := p.Receive(f[:])
			if k == 0 {
				t.Fatalf("%d of %d packets", n, each)
			}
			for _, x := range f[:k] {
				if got := payloadOf(t, x.Data); !bytes.Equal(got, []byte{byte(n), sender}) {
					t.Fatalf("%v, want number %d of %d", got, n, sender)
				}
				n++
			}
			p.Release(f[:k])
		}
		if n := p.Receive(f[:]); n != 0 {
			t.Fatalf("%d more", n)
		}
	}
	must(t, o.Watch(false))
	send()
	if readable(t, o) {
		t.Error("readable although it is not watched")
	}
	check(p, 0)
	must(t, o.Watch(true))
	if !readable(t, o) {
		t.Error("not readable, although packets were found before Watch")
	}
	check(o, 1)
	if readable(t, o) {
		t.Error("readable without packets")
	}
	send()
	if !readable(t, o) {
		t.Error("not readable, although there are packets in the ring")
	}
	check(p, 0)
	if !readable(t, o) {
		t.Error("not readable, although another port has found packets")
	}
	var f [4]Frame
	if n := o.Receive(f[:]); n != 4 || !readable(t, o) {
		t.Errorf("%d packets; readable: %v, with some left", n, readable(t, o))
	}
	o.Release(f[:])
	must(t, o.Watch(false))
	if o.Receive(f[:]) != 4 {
		t.Error("no packets, although some are left")
	}
	// The frames in the backlog of a port are freed when it closes.
	must(t, o.Close())
	if q := i.queues[0]; q.in.out != 0 {
		t.Errorf("%d chunks are still out", q.in.out)
	}
	if st, err := i.Stats(); err != nil || st != (Stats{}) {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestNeglected: a port that does not receive its packets loses some of them. Other ports lose none.
func TestNeglected(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := []netip.AddrPort{netip.AddrPortFrom(a.v4, 7001), netip.AddrPortFrom(a.v4, 7002)}
	i, p := openPort(t, a, Config{RxFrames: 64}, at[0])
	_, lazy := openPort(t, a, Config{}, at[1])
	s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
	for n := range 40 {
		_, err := s.WriteToUDPAddrPort([]byte{byte(n)}, at[1])
		must(t, err)
		_, err = s.WriteToUDPAddrPort([]byte{byte(n)}, at[0])
		must(t, err)
		if got := payloadOf(t, take(t, p, 1)[0]); got[0] != byte(n) {
			t.Fatalf("%v, want %d", got, n)
		}
	}
	st, err := i.Stats()
	if err != nil || st != (Stats{Overflow: 24}) || lazy.Lost() != 24 || p.Lost() != 0 {
		t.Errorf("%+v, %v; lost %d and %d", st, err, lazy.Lost(), p.Lost())
	}
	for n, b := range take(t, lazy, 16) {
		if got := payloadOf(t, b); got[0] != byte(n) {
			t.Errorf("%v, want %d", got, n)
		}
	}
	_, err = s.WriteToUDPAddrPort([]byte{99}, at[1])
	must(t, err)
	if got := payloadOf(t, take(t, lazy, 1)[0]); got[0] != 99 {
		t.Errorf("%v after the others", got)
	}
}

// TestExhaustion: packets are lost and counted if there are no free frames. Receiving continues when frames are
// released.
func TestExhaustion(t *testing.T) {
	for _, mode := range []Mode{Driver, Generic} {
		a, b := places(t, 1, 1500)
		at := netip.AddrPortFrom(a.v4, 7001)
		i, p := openPort(t, a, Config{Mode: mode, RxFrames: 64, TxFrames: 16}, at)
		s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
		for n := range 100 {
			_, err := s.WriteToUDPAddrPort([]byte{byte(n)}, at)
			must(t, err)
		}
		until(t, "the loss of packets without a frame", func() bool {
			st, err := i.Stats()
			must(t, err)
			return st.NoFrame == 36 && st.Dropped == 0 && arrived(i.queues[0]) == 64
		})
		var f [100]Frame
		n := p.Receive(f[:])
		if n != 64 || payloadOf(t, f[63].Data)[0] != 63 {
			t.Fatalf("%v: %d packets", mode, n)
		}
		_, err := s.WriteToUDPAddrPort([]byte{200}, at) // the kernel has no chunk
		must(t, err)
		until(t, "one more loss", func() bool { st, _ := i.Stats(); return st.NoFrame == 37 })
		p.Release(f[:n])
		if p.Release(f[:n]); i.queues[0].in.out != 0 || *i.queues[0].s.fill.producer-*i.queues[0].s.fill.consumer > 64 {
			t.Errorf("%v: frames released twice count twice", mode)
		}
		_, err = s.WriteToUDPAddrPort([]byte{201}, at)
		must(t, err)
		if got := payloadOf(t, take(t, p, 1)[0]); got[0] != 201 {
			t.Errorf("%v: %v after the loss", mode, got)
		}

		if n := p.Reserve(f[:]); n != 16 {
			t.Errorf("%v: %d frames to transmit", mode, n)
		}
		var more [1]Frame
		if n := p.Reserve(more[:]); n != 0 {
			t.Errorf("%v: %d frames too many", mode, n)
		}
		p.Discard(f[:8])
		if n := p.Reserve(f[:8]); n != 8 {
			t.Errorf("%v: %d of 8 discarded frames", mode, n)
		}
		bad := f[3]
		bad.Data = make([]byte, 60)
		empty := f[4]
		empty.Data = empty.Data[:0]
		long := f[5]
		long.More = true
		for _, x := range []Frame{bad, empty, long, {}} {
			if errno := p.Submit([]Frame{x}); errno != unix.EINVAL {
				t.Errorf("%v: a wrong frame: %v", mode, errno)
			}
		}
		must(t, p.Close())
		if n := len(i.queues[0].outq.free.free); n != 16 {
			t.Errorf("%v: %d frames after Close", mode, n)
		}
		if st, err := i.Stats(); err != nil || st.BadTx != 4 || st.BadRx != 0 {
			t.Errorf("%v: %+v, %v", mode, st, err)
		}
	}
}

// TestUnspecified: a port at the unspecified address receives packets for the host's present addresses, and for no
// others.
func TestUnspecified(t *testing.T) {
	a, b := places(t, 1, 1500)
	for _, any := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		i, p := openPort(t, a, Config{}, netip.AddrPortFrom(any, 7001))
		_, q := openPort(t, b, Config{}, netip.AddrPortFrom(b.v4, 7000))
		both := any.Is6()
		other := netip.MustParseAddr("10.97.0.9")
		must(t, i.SetAddresses([]netip.Addr{a.v4, a.v6}))
		reaches := func(to netip.Addr, want bool) {
			t.Helper()
			from := netip.AddrPortFrom(b.v4, 7000)
			if to.Is6() {
				from = netip.AddrPortFrom(b.v6, 7000)
			}
			put(t, q, packet(t, b, a, from, netip.AddrPortFrom(to, 7001), []byte{1}))
			// This packet arrives in any case.
			put(t, q, packet(t, b, a, netip.AddrPortFrom(b.v4, 7000), netip.AddrPortFrom(a.v4, 7001), []byte{2}))
			want2 := []byte{2}
			if want {
				want2 = []byte{1, 2}
			}
			var got []byte
			for len(got) == 0 || got[len(got)-1] != 2 {
				for _, x := range take(t, p, 1) {
					got = append(got, payloadOf(t, x)...)
				}
			}
			if !bytes.Equal(got, want2) {
				t.Errorf("%v to %v: %v came, want %v", any, to, got, want2)
			}
		}
		reaches(a.v4, true)
		reaches(a.v6, both)
		reaches(other, false)
		must(t, i.SetAddresses([]netip.Addr{a.v4, other}))
		reaches(a.v6, false)
		reaches(other, true)
		must(t, i.SetAddresses([]netip.Addr{a.v4, a.v6}))
		reaches(other, false)
		reaches(a.v6, both)
		must(t, p.Close())
		must(t, q.Close())
	}
}

// TestVLAN: each port receives the packets of its VLAN, with their tags. Packets of other VLANs go to the kernel.
func TestVLAN(t *testing.T) {
	c7, s8 := frame.Tag{Proto: frame.TagC, TCI: 7}, frame.Tag{Proto: frame.TagS, TCI: 8}
	for _, mode := range []Mode{Driver, Generic} {
		a, b := places(t, 1, 1500)
		to, from := netip.AddrPortFrom(a.v6, 7001), netip.AddrPortFrom(b.v6, 7000)
		i, plain := openPort(t, a, Config{Mode: mode}, to)
		_, q := openPort(t, b, Config{Mode: mode}, from)
		in := []struct {
			tags []frame.Tag
			p    *Port
		}{{nil, plain}, {[]frame.Tag{c7}, nil}, {[]frame.Tag{s8, c7}, nil}}
		for n := range in[1:] {
			p, err := i.Bind(to, in[n+1].tags...)
			must(t, err)
			t.Cleanup(func() { must(t, p.Close()) })
			in[n+1].p = p
		}
		for n, x := range in {
			put(t, q, packet(t, b, a, from, to, pattern(64, 5), frame.Tag{Proto: frame.TagC, TCI: 70})) // for no port
			put(t, q, packet(t, b, a, from, to, pattern(64, 5), s8))
			b := packet(t, b, a, from, to, pattern(64, byte(n)), x.tags...)
			put(t, q, b)
			if got := take(t, x.p, 1); len(got) != 1 || !bytes.Equal(got[0], b) {
				t.Errorf("%v, %v: %x, want %x", mode, x.tags, got, b)
			}
		}
		// The tag has a priority and no VLAN.
		b1 := packet(t, b, a, from, to, pattern(64, 9), frame.Tag{Proto: frame.TagC, TCI: 3 << 13})
		put(t, q, b1)
		if got := take(t, plain, 1); len(got) != 1 || !bytes.Equal(got[0], b1) {
			t.Errorf("%v: %x, want %x", mode, got, b1)
		}
		if st, err := i.Stats(); err != nil || st != (Stats{}) {
			t.Errorf("%+v, %v", st, err)
		}
		if _, err := i.Bind(to, s8, c7, c7); err == nil {
			t.Error("three tags were accepted")
		}
	}
}

// TestQueues: several queues share one umem, and packets from all of them are received.
func TestQueues(t *testing.T) {
	const queues = 3
	a, b := places(t, queues, 1500)
	to := netip.AddrPortFrom(a.v4, 7001)
	a.Enter()
	for n, want := range map[int]error{queues + 1: QueueCount, 1: nil} {
		i, err := Open("eth9", Config{Queues: n})
		if !errors.Is(err, want) || err == nil && len(i.queues) != n {
			t.Errorf("%d queues: %v, %v", n, i, err)
		}
		if err == nil {
			i.Close()
		}
	}
	i, p := openPort(t, a, Config{RxFrames: 64, TxFrames: 16}, to)
	if len(i.queues) != queues {
		t.Fatalf("%v", i)
	}
	for n := range queues {
		from := netip.AddrPortFrom(b.v4, uint16(7010+n))
		_, q := openPort(t, b, Config{}, from)
		if q.tx.n != n {
			t.Fatalf("port %d transmits on queue %d", n, q.tx.n)
		}
		for range 100 { // more than a queue has chunks
			put(t, q, packet(t, b, a, from, to, []byte{byte(n)}))
			var f [1]Frame
			await(t, p, "a packet", func() bool { return p.Receive(f[:]) == 1 })
			if got := payloadOf(t, f[0].Data); got[0] != byte(n) || f[0].chunk/i.u.perQueue != uint32(n) {
				t.Fatalf("%v in chunk %d, want %d", got, f[0].chunk, n)
			}
			p.Release(f[:])
		}
	}
	if st, err := i.Stats(); err != nil || st != (Stats{}) {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestNoAllocations: a packet allocates nothing.
func TestNoAllocations(t *testing.T) {
	a, b := places(t, 1, 1500)
	from, to := netip.AddrPortFrom(a.v4, 7001), netip.AddrPortFrom(b.v4, 7002)
	_, p := openPort(t, a, Config{}, from)
	_, q := openPort(t, b, Config{}, to)
	there, f := packet(t, a, b, from, to, pattern(64, 0)), make([]Frame, 8)
	if n := testing.AllocsPerRun(1000, func() {
		if p.Reserve(f[:1]) == 1 {
			f[0].Data = f[0].Data[:copy(f[0].Data, there)]
			if p.Submit(f[:1]) != 0 || p.Flush() != 0 {
				t.Error("not sent")
			}
		}
		n := 0
		for range 1_000_000 {
			if n = q.Receive(f); n > 0 {
				break
			}
		}
		if q.Release(f[:n]); n != 1 {
			t.Errorf("%d packets", n)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
