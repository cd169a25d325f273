//go:build linux && !fabricbasic

package udp

// The use of shared memory pauses and ends.

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/shm"
)

// only returns the one peer of a station. Locked.
func (s *station) only() *shmPeer { return s.p.sameHost.datapath.peers[0] }

// TestMemoryFallsAsleep writes to a port between its last read of the memory and its sleep. No doorbell is sent
// then, so the port must read the memory once more.
func TestMemoryFallsAsleep(t *testing.T) {
	a, b := neighboursAt(t, loopback4)
	meet(t, a, b)
	b.locked(b.d.prog.EnterWait) // no other pass or tick follows that might find the record
	for i := range 3 {
		time.Sleep(5 * time.Millisecond) // until tasks in progress have ended
		b.locked(func() {
			b.in.got = nil
			upTo, _ := b.only().PeerSentViaSocket()
			b.only().SetSocketDrained(upTo)
			b.p.main.datapath.direct(true)
			before := a.p.counts().MemorySent
			must(t, a.p.send(b.p.local, 0, []byte{byte(i)}))
			if a.p.counts().MemorySent == before {
				t.Fatal("the datagram did not go through memory")
			}
			b.p.main.datapath.direct(false)
		})
		b.come(1)
	}
	b.locked(b.d.prog.LeaveWait)
}

// come waits until n datagrams have come. It makes no passes.
func (s *station) come(n int) {
	s.t.Helper()
	s.d.untilItself(s.t, fmt.Sprint(n, " datagrams"), func() bool { return len(s.in.got) >= n })
}

// TestMemoryDoorbell writes to a sleeping port: the doorbell wakes it.
func TestMemoryDoorbell(t *testing.T) {
	a, b := neighboursAt(t, loopback4)
	meet(t, a, b)
	b.locked(b.d.prog.EnterWait)
	b.locked(func() { b.in.got = nil })
	a.locked(func() {
		m := a.only()
		if m.PeerPolls() {
			t.Error("the sleeping port counts as polling")
		}
		if ok, err := m.WriteRecord([][]byte{{1, 2, 3}}, 3, 0); !ok || err != nil {
			t.Error(ok, err)
		}
		m.Ring()
	})
	b.come(1)
	b.locked(b.d.prog.LeaveWait)
}

// TestMemoryAway sends more small datagrams to a port than one pass takes, before it sleeps. All of them come.
func TestMemoryAway(t *testing.T) {
	a, b := neighboursAt(t, loopback4)
	meet(t, a, b)
	const count = 3000
	b.awake()
	a.awake()
	a.d.prog.Lock()
	b.d.prog.Lock()
	b.in.got = nil
	for range count {
		must(t, a.p.Send(b.p.local, [][]byte{{1}}, 0))
	}
	b.d.prog.EnterWait()
	b.d.prog.Unlock()
	a.d.prog.Unlock()
	b.come(count)
	b.locked(b.d.prog.LeaveWait)
}

// TestMemoryFull: datagrams without room in the memory go through the socket, and come after the others.
func TestMemoryFull(t *testing.T) {
	a, b := neighboursAt(t, loopback4)
	meet(t, a, b)
	b.awake()
	a.awake()
	b.d.prog.Lock()
	b.in.got = nil
	data := make([]byte, 20_000)
	count := 2*shm.RingSize/len(data) + 1
	before := a.p.counts()
	for i := range count {
		data[0] = byte(i)
		must(t, a.p.send(b.p.local, 0, data))
	}
	c := a.p.counts()
	if by := c.MemorySent - before.MemorySent; b.p.main.direct &&
		(by == 0 || by > shm.RingSize/uint64(len(data)) || c.SentDatagrams-before.SentDatagrams != uint64(count)) {
		t.Errorf("%d of %d went through memory", by, count)
	}
	b.d.prog.Unlock()
	b.d.until(t, "the port receives all datagrams", func() bool { return len(b.in.got) >= count })
	for i, d := range b.in.got {
		if d.data[0] != byte(i) {
			t.Fatalf("datagram %d came as number %d", d.data[0], i)
		}
	}
	meet(t, a, b) // memory is used again
}

// TestMemorySocketToo: a port that is flooded through memory also receives what other ports send to its socket.
func TestMemorySocketToo(t *testing.T) {
	a, b := neighboursAt(t, loopback4)
	meet(t, a, b)
	c := newStation(t, netip.AddrPortFrom(loopback4, 0), "LOCAL_MEMORY", "0")
	for b.locked(func() { b.p.sameHost.datapath.near = 0 }); ; {
		b.awake()
		a.awake()
		b.locked(func() { b.in.got = nil })
		before := a.p.counts().MemorySent
		must(t, c.p.send(b.p.local, 0, []byte("from the socket")))
		came := false
		for range 2 * shmEvery { // passes
			for range 5 {
				must(t, a.p.send(b.p.local, 0, []byte("flood")))
			}
			b.poll(1)
		}
		b.locked(func() {
			came = slices.ContainsFunc(b.in.got, func(d gotDatagram) bool { return d.from == c.p.local })
		})
		if !came {
			t.Error("the socket is starved")
		}
		if a.p.counts().MemorySent-before == 10*shmEvery {
			return
		}
	}
}

// TestMemoryEnds removes a peer in several ways. What it wrote before comes, datagrams continue through the socket,
// and a new port at its address shares memory again.
func TestMemoryEnds(t *testing.T) {
	for _, how := range []string{"close, polled", "close, asleep", "close, announced first", "broken", "link"} {
		t.Run(how, func(t *testing.T) {
			a, b := neighboursAt(t, loopback4)
			meet(t, a, b)
			a.awake()
			b.awake()
			a.d.prog.Lock()
			a.in.got = nil
			for i := range 100 {
				must(t, b.p.send(a.p.local, 0, []byte{byte(i)}))
			}
			b.d.prog.Lock()
			if how == "link" {
				a.p.SetDatapath(core.DatapathAuto) // there is no AF_XDP on lo
				if a.p.sameHost.datapath != nil {
					t.Error("the port still uses shared memory")
				}
			}
			if how != "broken" {
				must(t, b.p.Close())
			}
			if how == "close, announced first" {
				a.only().Ready(true, false)
			}
			b.d.prog.Unlock()
			if how == "close, asleep" {
				a.d.prog.EnterWait()
			}
			a.d.prog.Unlock()
			if how == "close, asleep" {
				a.come(100)
				a.locked(a.d.prog.LeaveWait)
			}
			a.d.until(t, "the port receives the datagrams that were written last", func() bool {
				return len(a.in.got) >= 100
			})
			for i, d := range a.in.got {
				if d.data != string([]byte{byte(i)}) {
					t.Fatalf("%q is number %d", d.data, i)
				}
			}
			if how == "broken" {
				b.locked(func() { b.only().Corrupt() })
				a.d.until(t, "the first port has no peer", func() bool { return len(a.p.sameHost.datapath.peers) == 0 })
				b.d.until(t, "the second port has no peer", func() bool { return len(b.p.sameHost.datapath.peers) == 0 })
				for range 10 * meetAfter {
					a.awake()
					tell(t, a, b, "hello")
				}
				if a.shmPeers() != 0 {
					t.Error("the port shares memory again with a peer that has corrupted it")
				}
				return
			}
			all(t, "the port has no peer", func() bool { return a.shmPeers() == 0 }, a)
			c := newStation(t, b.p.local)
			tell(t, a, c, "hello")
			meet(t, a, c)
		})
	}
}

// TestMemoryNonsense: a peer that writes invalid records is removed, and of its records only earlier ones arrive.
func TestMemoryNonsense(t *testing.T) {
	for what, r := range map[string]struct{ size, seg int }{
		"longer than a datagram":         {netx.MaxDatagram + 1, 0},
		"of pieces longer than that":     {10, netx.MaxDatagram + 1},
		"of more pieces than a run has":  {netx.SegmentsMax + 1, 1},
		"of pieces of a negative length": {10, -1},
	} {
		t.Run(what, func(t *testing.T) {
			a, b := neighboursAt(t, loopback4)
			meet(t, a, b)
			a.awake()
			a.locked(func() { a.in.got = nil })
			b.locked(func() {
				m := b.only()
				for _, r := range []struct{ size, seg int }{{3, 0}, r} {
					if ok, err := m.WriteRecord([][]byte{make([]byte, r.size)}, r.size, uint32(r.seg)); !ok ||
						err != nil {
						t.Fatal(ok, err)
					}
				}
			})
			all(t, "the port has no peer", func() bool { return a.shmPeers() == 0 }, a)
			a.locked(func() {
				if got := a.in.got; len(got) != 1 || len(got[0].data) != 3 {
					t.Errorf("%d datagrams have come", len(got))
				}
			})
		})
	}
}

// TestMemoryBounds: a port, and a domain, has no more peers than its limit.
func TestMemoryBounds(t *testing.T) {
	a := newStation(t, netip.AddrPortFrom(loopback4, 0))
	for i := range shmPeersMax + 2 {
		b := newStation(t, netip.AddrPortFrom(loopback4, 0))
		if i < shmPeersMax {
			meet(t, a, b)
			continue
		}
		for range 4 * meetAfter {
			a.awake()
			b.awake()
			tell(t, a, b, "hello")
			tell(t, b, a, "hello")
		}
		all(t, "the surplus peer is refused", func() bool { return b.shmPeers() == 0 }, a, b)
	}
	if a.shmPeers() != shmPeersMax {
		t.Errorf("%d peers", a.shmPeers())
	}
	c, d := neighboursAt(t, loopback4)
	c.d.shmPeers = domainShmPeers
	for range 4 * meetAfter {
		c.awake()
		d.awake()
		tell(t, c, d, "hello")
		tell(t, d, c, "hello")
	}
	all(t, "the surplus peer is refused", func() bool { return c.shmPeers() == 0 && d.shmPeers() == 0 }, c, d)
	c.d.shmPeers = 0
}

// TestMemoryNoAllocations: datagrams and runs pass without allocation.
func TestMemoryNoAllocations(t *testing.T) {
	d := testDomain(t)
	s := &sink{}
	a, _ := testPort(t, d, loopback4)
	b := portAt(t, d, netip.AddrPortFrom(loopback4, 0), s)
	parts := [][]byte{make([]byte, 64), make([]byte, 2000)}
	bytes := 0
	round := func() {
		d.prog.Lock()
		defer d.prog.Unlock()
		for i := range 40 {
			n, seg := 1+i%2, 1000*(i%2)
			bytes += 64 + 2000*(n-1)
			must(t, a.Send(b.local, parts[:n], seg))
		}
		for s.bytes < bytes {
			d.prog.Pass()
		}
		for range 100 { // the socket continues to be read directly
			d.prog.Pass()
		}
	}
	for i := 0; a.sameHost.datapath == nil; i++ {
		must(t, b.send(a.local, 0, []byte{1})) // otherwise the port would look for no peer
		if round(); i > 10*meetAfter {
			t.Fatal("no memory is shared")
		}
	}
	before := a.counts()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if c := a.counts(); c.MemorySent-before.MemorySent < 20*40 {
		t.Errorf("memory was hardly used: %+v", c)
	}
}

// TestMemoryNamespaces: no memory is shared with a port of the same address in another network namespace, even if the
// sending thread is in that namespace.
func TestMemoryNamespaces(t *testing.T) {
	if !netx.HasLocal {
		notHere(t, "no local sockets")
	}
	x, y := places(t)
	x.Enter()
	at := netip.MustParseAddrPort("127.0.0.1:4711")
	a, b := newStation(t, at), newStation(t, netip.MustParseAddrPort("127.0.0.1:4712"))
	y.Enter()
	c := newStation(t, netip.MustParseAddrPort("127.0.0.1:4712")) // not b, but at the same address
	c.locked(c.p.sameHost.listen)
	if c.p.sameHost.listener == nil {
		t.Fatal("the port does not listen on a local socket")
	}
	for range 4 * meetAfter { // a's goroutine is in the other namespace
		a.awake()
		must(t, a.p.send(b.p.local, 0, []byte("hello")))
		a.poll(1)
		c.poll(1)
	}
	if a.shmPeers() != 0 || c.shmPeers() != 0 || a.p.sameHost.listener != nil {
		t.Errorf("%d, %d peers, listener %v", a.shmPeers(), c.shmPeers(), a.p.sameHost.listener)
	}
	x.Enter()
	meet(t, a, b)
}
