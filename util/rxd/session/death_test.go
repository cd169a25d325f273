package session

import (
	"bytes"
	"errors"
	"net/netip"
	"runtime"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/test/need"
	"gofabric/util/rxd/wire"
)

// errs returns the errors of a node's completions.
func (d *node) errs() (list []error) {
	for i := range d.done {
		if err := d.done[i].Err; err != nil {
			list = append(list, err)
		}
	}
	return list
}

// TestNoPeer sends to an address without an endpoint.
func TestNoPeer(t *testing.T) {
	n := newWorld(t, 1)
	a := n.add(1, nil)
	s := msg(1, pattern(5000, 1))
	p := a.e.Peer(at(9), 7, n.Now)
	if err := p.Conn().Submit(s); err != nil {
		t.Fatal(err)
	}
	a.e.Posted(p)
	n.run(30*second, nil)
	if len(a.failed) != 1 || len(a.errs()) != 1 || !errors.Is(a.errs()[0], xengine.ErrTimeout) || a.e.Len() != 0 ||
		a.e.Deadline() != 0 {
		t.Error(a.failed, a.errs(), a.e.Len(), a.e.Deadline())
	}
	a.close()
}

// TestPartition cuts the network for less and for more than the peer timeout.
func TestPartition(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		exchange := func(what string) {
			t.Helper()
			have := b.count(xengine.KindRecv)
			b.recv(make([]byte, 9000), 1)
			s := msg(1, pattern(9000, 1))
			s.Ack = true
			a.post(b, s)
			if !n.run(60*second, func() bool { return b.count(xengine.KindRecv) > have }) {
				t.Fatalf("%s: %v %v\n%+v", what, a.failed, a.errs(), a.e.Stats)
			}
			n.run(second, nil)
		}
		exchange("first")
		n.Down = true
		b.recv(make([]byte, 9000), 1)
		a.post(b, msg(1, pattern(9000, 1)))
		n.run(10*second, nil)
		n.Down = false
		if n.run(10*second, nil); b.count(xengine.KindRecv) != 2 || len(a.failed)+len(a.errs()) > 0 {
			t.Fatalf("traffic does not continue after the partition: %v %v", a.failed, a.errs())
		}
		n.Down = true
		a.post(b, msg(1, pattern(9000, 1)))
		n.run(30*second, nil)
		if len(a.failed) != 1 || len(a.errs()) != 1 {
			t.Fatalf("%v %v", a.failed, a.errs())
		}
	})
}

// TestRestart replaces an endpoint by a new one at the same address, which sends first.
func TestRestart(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		for i := range 5 {
			b.recv(make([]byte, 4000), uint64(i))
			a.recv(make([]byte, 4000), uint64(i))
			a.post(b, msg(1, pattern(3000, 1)))
			b.post(a, msg(1, pattern(3000, 2)))
		}
		if !n.run(second, func() bool { return a.count(xengine.KindRecv) == 5 && b.count(xengine.KindRecv) == 5 }) {
			t.Fatal("the first messages do not arrive")
		}
		n.run(second, nil)
		a.post(b, msg(2, pattern(3000, 1))) // no endpoint receives it
		n.Down = true
		n.run(5*ms, nil)
		n.Down = false
		c := n.add(2, func(c *Config) { c.Extensions = b.cfg.Extensions })
		c.post(a, msg(1, pattern(3000, 3)))
		a.recv(make([]byte, 4000), 9)
		if !n.run(5*second, func() bool { return a.count(xengine.KindRecv) == 6 }) {
			t.Fatalf("no message of the new endpoint arrives: %v\n%+v\n%+v", a.failed, a.e.Stats, c.e.Stats)
		}
		if len(a.failed) != 1 || a.failed[0] != xengine.ErrPeerClose || a.e.Stats.Restarts != 1 {
			t.Errorf("%v %+v", a.failed, a.e.Stats)
		}
		c.recv(make([]byte, 4000), 1)
		a.post(c, msg(3, pattern(3000, 4)))
		if !n.run(5*second, func() bool { return c.count(xengine.KindRecv) == 1 }) {
			t.Fatalf("the new endpoint receives nothing: %v\n%+v", a.failed, a.e.Stats)
		}
		c.close()
	})
}

// TestLateRTS repeats an old RTS and forges one. The connection continues.
func TestLateRTS(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		var old [][]byte
		n.Tap = func(from, _ int, p []byte) {
			if len(p) >= wire.RTSLen && p[0] == wire.Version && wire.Type(p[1]) == wire.TypeRTS && from == a.host {
				old = append(old, bytes.Clone(p))
			}
		}
		for i := range 10 {
			b.recv(make([]byte, 4000), uint64(i))
			a.recv(make([]byte, 4000), uint64(i))
			a.post(b, msg(1, pattern(3000, 1)))
			b.post(a, msg(1, pattern(3000, 1)))
			if !n.run(second, func() bool { return b.count(xengine.KindRecv) == i+1 && a.count(xengine.KindRecv) == i+1 }) {
				t.Fatalf("%d: %+v\n%+v", i, a.e.Stats, b.e.Stats)
			}
			n.run(100*ms, nil)
			for _, p := range old {
				b.e.Receive(n.Now, a.addr, p)
			}
			forged := wire.RTS{RTSAddr: 77, Source: a.addr}
			b.e.Receive(n.Now, a.addr, forged.Append(nil))
		}
		if len(a.failed)+len(b.failed)+len(a.errs())+len(b.errs()) > 0 {
			t.Error(a.failed, b.failed, a.errs(), b.errs())
		}
	})
}

// TestRemove has one end remove the other and contact it again.
func TestRemove(t *testing.T) {
	n := newWorld(t, 3)
	a, b := n.add(1, nil), n.add(2, nil)
	for i := range 5 {
		b.recv(make([]byte, 4000), uint64(i))
		a.post(b, msg(1, pattern(3000, 1)))
		if !n.run(5*second, func() bool { return b.count(xengine.KindRecv) == i+1 }) {
			t.Fatalf("%d: %+v\n%+v", i, a.e.Stats, b.e.Stats)
		}
		x, y := a, b
		if i == 1 {
			x, y = b, a
		}
		x.e.Remove(x.e.Lookup(y.addr), xengine.ErrClosed)
		if i >= 2 { // the reset is lost
			n.Down = true
			x.flush()
			n.Down = false
		}
		n.run(100*ms, nil)
	}
	a.close()
	b.close()
}

// TestShutdown ends a connection in order. Completed operations arrive, and operations that have not begun are
// withdrawn.
func TestShutdown(t *testing.T) {
	n := newWorld(t, 3)
	n.Link.Loss = 0.1
	a, b := n.add(1, nil), n.add(2, nil)
	for i := range 50 {
		b.recv(make([]byte, 40_000), uint64(i))
	}
	a.post(b, msg(1, pattern(0, 1)))
	n.run(second, func() bool { return a.e.Lookup(b.addr).Up() })
	for i := 1; i < 50; i++ {
		a.post(b, msg(1, pattern(i*500, 1)))
	}
	done := a.count(xengine.KindSend)
	if done == 0 || done == 50 {
		t.Fatalf("%d of 50 sends have completed: the test needs some of them", done)
	}
	a.e.Shutdown(n.Now)
	if !n.run(20*second, func() bool { return a.e.Flushed(false) }) || b.count(xengine.KindRecv) < done {
		t.Fatalf("%d arrived of %d that had completed", b.count(xengine.KindRecv), done)
	}
	a.close()
	b.close()
}

// TestSelf has an endpoint send to itself.
func TestSelf(t *testing.T) {
	for _, change := range []func(*Config){nil, nativeOnly} {
		n := newWorld(t, 4)
		a := n.add(1, change)
		for i := range 10 {
			a.recv(make([]byte, 20_000), uint64(i))
			a.post(a, msg(1, pattern(i*2000, 1)))
		}
		got := make([]byte, 3000)
		a.post(a, rma(xengine.KindRead, 1, got, 5))
		if !n.run(5*second, func() bool { return a.count(xengine.KindRecv) == 10 && a.count(xengine.KindRead) == 1 }) {
			t.Fatalf("%d received: %+v", a.count(xengine.KindRecv), a.e.Stats)
		}
		a.close()
	}
}

// TestFlood sends RTS from a million forged addresses.
func TestFlood(t *testing.T) {
	n := newWorld(t, 5)
	a, b := n.add(1, nil), n.add(2, nil)
	a.post(b, msg(1, pattern(100, 1)))
	n.run(second, func() bool { return b.e.Len() == 1 })
	old := n.add(3, nativeOnly)
	old.post(b, msg(1, pattern(100, 1)))
	n.run(second, func() bool { return b.e.Len() == 2 })
	out := Out{Head: make([]byte, 0, HeadMax)}
	flood := func(count int, ext bool) {
		x := wire.Ext{ConnID: 1, Epoch: 2, MaxDatagram: 9000, Window: 1 << 20}
		buf := make([]byte, 0, 256)
		for i := range count {
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, byte(i >> 16), byte(i >> 8), byte(i)}), 99)
			r := wire.RTS{RTSAddr: 5, Source: from}
			buf = r.Append(buf[:0])
			if ext {
				x.ConnID, x.Nonce, x.Cookie = n.Uint64()|1, n.Uint64(), n.Uint64()*uint64(i&1)
				buf = x.Append(buf)
			}
			b.e.Receive(n.Now, from, buf)
			for i%50 == 0 && b.e.Poll(n.Now, &out) {
			}
		}
	}
	count := 100_000
	if need.Raced {
		count /= 10
	}
	for _, ext := range []bool{true, false} {
		flood(5*count, ext)
		before := heapUse()
		flood(2*count, ext)
		if grown := heapUse() - before; grown > 64<<10 {
			t.Errorf("ext %v: memory grew by %d bytes", ext, grown)
		}
	}
	if b.e.Len() != 2 || len(b.e.halfOpen.m) != b.cfg.MaxHalfOpen && len(b.e.halfOpen.m) != 1024 {
		t.Error(b.e.Len(), len(b.e.halfOpen.m))
	}
	for range 3 { // traffic with real peers continues
		b.recv(make([]byte, 200), 1)
		b.recv(make([]byte, 200), 1)
		a.post(b, msg(1, pattern(100, 1)))
		old.post(b, msg(1, pattern(100, 1)))
	}
	if !n.run(second, func() bool { return b.count(xengine.KindRecv) == 6 }) {
		t.Error(b.count(xengine.KindRecv))
	}
}

func heapUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
