//go:build linux

package xdp

import (
	"net/netip"
	"testing"
)

// TestRingFull: a packet for which there is a frame, but no place in the receive ring, has a count of its own.
// Usually there are no more frames than places. So the test also gives the kernel some of the frames for
// transmitting.
func TestRingFull(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := netip.AddrPortFrom(a.v4, 7001)
	i, p := openPort(t, a, Config{Mode: Generic, RxFrames: 64, TxFrames: 32}, at)
	q := i.queues[0]
	for c := q.tx; c < q.tx+32; c++ {
		q.s.fill.put(q.u.address(c))
	}
	q.s.fill.publish()
	s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
	for range 64 + 20 {
		_, err := s.WriteToUDPAddrPort([]byte("full"), at)
		must(t, err)
	}
	var st Stats
	until(t, "loss for want of a place", func() (lost bool) {
		var err error
		st, err = i.Stats()
		must(t, err)
		return st.RingFull+st.NoFrame+st.Dropped >= 20
	})
	if st != (Stats{RingFull: 20}) {
		t.Errorf("%+v", st)
	}
	var f [64]Frame
	if n := p.Receive(f[:]); n != 64 {
		t.Errorf("%d frames", n)
	}
}

// TestManyNeglected: ports that do not receive cannot hold all frames of a queue together, although each is below its
// own bound. A quarter remains for other ports.
func TestManyNeglected(t *testing.T) {
	const frames, each, lazies = 64, 15, 4
	a, b := places(t, 1, 1500)
	i, p := openPort(t, a, Config{RxFrames: frames}, netip.AddrPortFrom(a.v4, 7001))
	s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
	var lazy []*Port
	for n := range lazies {
		_, o := openPort(t, a, Config{}, netip.AddrPortFrom(a.v4, 7002+uint16(n)))
		lazy = append(lazy, o)
		for range each {
			_, err := s.WriteToUDPAddrPort([]byte("mine"), o.Addr())
			must(t, err)
		}
	}
	until(t, "all packets arrive", func() bool { return arrived(i.queues[0]) == lazies*each })
	var f [framesMax]Frame
	for arrived(i.queues[0]) > 0 {
		if n := p.Receive(f[:]); n != 0 {
			t.Fatalf("%d frames for a port to which nothing was sent", n)
		}
	}
	var lost uint64
	for _, o := range lazy {
		lost += o.Lost()
	}
	if out := i.queues[0].in.out; out != frames/4*3 || lost != lazies*each-frames/4*3 {
		t.Errorf("%d frames are held for neglected ports, %d packets lost", out, lost)
	}
	for n := range frames / 2 {
		_, err := s.WriteToUDPAddrPort([]byte{byte(n)}, p.Addr())
		must(t, err)
		if got := payloadOf(t, take(t, p, 1)[0]); got[0] != byte(n) {
			t.Fatalf("%v, want %d", got, n)
		}
	}
}
