//go:build linux

package udp

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/batch"
	"gofabric/internal/batch/batchtest"
	"gofabric/internal/netx"
	"gofabric/internal/xdp"
	"gofabric/test/veth"
	"gofabric/test/wait"
)

// xdpPair is two ports of one domain with AF_XDP datapaths to each other.
func xdpPair(t *testing.T, a, b *veth.Host, variables ...string) (d *domain, p [2]*port, in [2]*inbox, datapaths [2]*xdpDatapath) {
	t.Helper()
	d = testDomain(t, append([]string{"LINK", linkXDP}, variables...)...)
	for i, h := range []*veth.Host{a, b} {
		h.Enter()
		p[i], in[i] = testPort(t, d, netip.MustParseAddr([]string{"10.98.0.1", "10.98.0.2"}[i]))
		if p[i].xdp == nil {
			t.Fatal(p[i].noXDP)
		}
		datapaths[i] = p[i].xdp.(*xdpDatapath)
	}
	for i := range p { // until the neighbour is known
		dest := p[1-i].local
		d.until(t, "a datagram bypasses the system's stack", func() bool {
			must(t, p[i].Send(dest, [][]byte{{1}}, 0))
			d.prog.Pass()
			return datapaths[i].sent > 0
		})
	}
	d.until(t, "no datagram waits in the datapaths", func() bool { return datapaths[0].unflushed == 0 && datapaths[1].unflushed == 0 })
	return d, p, in, datapaths
}

// TestXDPMode: over veth the kernel's stack runs the program, unless the user selects driver mode.
func TestXDPMode(t *testing.T) {
	a, _ := places(t)
	a.Enter()
	for mode, want := range map[string]xdp.Mode{modeAuto: xdp.Generic, modeGeneric: xdp.Generic, modeDriver: xdp.Driver} {
		d := testDomain(t, "LINK", linkXDP, "XDP_MODE", mode)
		p, _ := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
		if p.xdp == nil {
			t.Fatal(p.noXDP)
		}
		if got := p.xdp.(*xdpDatapath).iface.Mode(); got != want {
			t.Errorf("%s is %v", mode, got)
		}
		d.prog.Lock()
		must(t, p.Close())
		d.prog.Unlock()
	}
}

// TestXDPNewcomer: the first datagram of an endpoint bypasses the stack if another endpoint of its address has sent
// to the peer before.
func TestXDPNewcomer(t *testing.T) {
	a, b := places(t)
	d, p, _, datapaths := xdpPair(t, a, b)
	a.Enter()
	// The kernel sets up an interface's routes some time after it is up.
	wait.Until(t, "the first datagram, and that of an endpoint that had sent before, go past the stack", func() bool {
		sent := datapaths[0].sent
		must(t, p[0].send(p[1].local, 0, []byte{1}))
		q, _ := testPort(t, d, p[0].local.Addr())
		must(t, q.send(p[1].local, 0, []byte{2}))
		first, known := q.counts().BypassSent == 1, p[0].counts().BypassSent > sent
		d.prog.Lock()
		must(t, q.Close())
		d.prog.Unlock()
		return first && known
	})
}

// TestXDPGather sends several datagrams without a pass in between. The first leaves at once, unless a burst went
// before. The others wait for the pass, and all of them arrive in order.
func TestXDPGather(t *testing.T) {
	a, b := places(t)
	d, p, in, datapaths := xdpPair(t, a, b)
	d.prog.Lock()
	batchtest.Take(d.prog.Batch()) // delays of this test must not count as pauses of the application
	d.prog.Unlock()
	count := 3 * frameLimits.Copied
	most := 0
	for round := range 4 {
		d.until(t, "all datagrams from before", func() bool { in[1].got = nil; return true })
		d.prog.Lock()
		d.prog.Pass()
		for i := range count {
			must(t, p[0].Send(p[1].local, [][]byte{{byte(i)}}, 0))
			if round == 0 && i == 0 && datapaths[0].unflushed != 0 {
				t.Error("the first datagram waits")
			}
			most = max(most, datapaths[0].unflushed)
		}
		d.prog.Pass()
		if datapaths[0].unflushed != 0 {
			t.Errorf("%d datagrams still wait after a pass", datapaths[0].unflushed)
		}
		d.prog.Unlock()
		d.until(t, "all datagrams of the round", func() bool { return len(in[1].got) >= count })
		for i, g := range in[1].got {
			if g.data != string([]byte{byte(i)}) {
				t.Fatalf("%q arrives as number %d", g.data, i)
			}
		}
	}
	if most == 0 || most >= frameLimits.Copied {
		t.Errorf("up to %d datagrams waited, want some, and fewer than %d", most, frameLimits.Copied)
	}
}

// TestXDPKick: the datapath reports to the scheduler what it has transmitted within a burst, so that the time of its
// system calls does not count as a pause of the application (rule 7 of package batch).
func TestXDPKick(t *testing.T) {
	a, b := places(t)
	d, p, _, datapaths := xdpPair(t, a, b)
	d.prog.Lock()
	defer d.prog.Unlock()
	clock := batchtest.Take(d.prog.Batch())
	for burst := range 4 {
		d.prog.Pass()
		for i := range frameLimits.Copied + 4 {
			if i == frameLimits.Copied/2 {
				clock.Advance(4 * batch.Delay) // the time of the system call
			}
			must(t, p[0].Send(p[1].local, [][]byte{{byte(i)}}, 0))
		}
		left := datapaths[0].unflushed
		if d.prog.Pass(); left == 0 || left >= frameLimits.Copied || d.prog.Batch().Away() {
			t.Errorf("burst %d: %d datagrams wait for a pass, batch takes the application for away: %v; want a few, false", burst, left, d.prog.Batch().Away())
		}
	}
}

// flusher is a layer above the port with a message to send.
type flusher func()

func (f flusher) Flush() { f() }

// TestXDPGatherWithinFlush: datagrams that a layer sends while it is flushed have left at the end of the flush,
// even if another flush is requested meanwhile, as by late posts.
func TestXDPGatherWithinFlush(t *testing.T) {
	a, b := places(t)
	d, p, in, datapaths := xdpPair(t, a, b)
	d.until(t, "all datagrams from before", func() bool { in[1].got = nil; return true })
	sent := 0
	gather := func() {
		for n := 0; datapaths[0].unflushed == 0; n++ {
			if n == 10000 {
				t.Error("no datagram ever waits")
				return
			}
			must(t, p[0].Send(p[1].local, [][]byte{{byte(sent)}}, 0))
			sent++
		}
	}
	d.prog.Lock()
	above := flusher(func() {
		gather()
		d.prog.FlushStaged()
		gather()
	})
	new(batch.Stream).Answer(d.prog.Batch(), &above)
	d.prog.FlushStaged()
	if datapaths[0].unflushed != 0 {
		t.Errorf("%d datagrams wait after the flush", datapaths[0].unflushed)
	}
	d.prog.Unlock()
	d.until(t, "all datagrams that were sent", func() bool { return len(in[1].got) == sent })
}

// TestXDPDirect: while every pass receives, the descriptor does not become readable. Afterwards it does, also for
// datagrams that arrived before.
func TestXDPDirect(t *testing.T) {
	a, b := places(t)
	d, p, in, datapaths := xdpPair(t, a, b)
	readable := func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(datapaths[1].wait()), Events: unix.POLLIN}}, 0)
		must(t, err)
		return n > 0
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	must(t, datapaths[1].direct(true))
	in[1].got = nil
	for len(in[1].got) == 0 {
		must(t, p[0].Send(p[1].local, [][]byte{{1}}, 0))
		d.prog.FlushStaged()
		datapaths[0].flush()
		if readable() {
			t.Fatal("the descriptor is readable though every pass receives")
		}
		p[1].Poll()
	}
	datapaths[1].release()
	must(t, p[0].Send(p[1].local, [][]byte{{2}}, 0))
	d.prog.FlushStaged()
	must(t, datapaths[1].direct(false))
	if !readable() {
		t.Error("the descriptor is not readable though a datagram has arrived")
	}
}

// TestXDPDirectSocket: datagrams of the socket are received as well while every pass receives.
func TestXDPDirectSocket(t *testing.T) {
	a, b := places(t)
	d, p, in, datapaths := xdpPair(t, a, b)
	if datapaths[0].segments() == 1 {
		notHere(t, "datagrams arrive in runs through AF_XDP")
	}
	readable := func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(datapaths[1].wait()), Events: unix.POLLIN}}, 0)
		must(t, err)
		return n > 0
	}
	d.until(t, "all datagrams from before", func() bool { in[1].got = nil; return true })
	d.prog.Lock()
	defer d.prog.Unlock()
	must(t, datapaths[1].direct(true))
	must(t, datapaths[1].want(netx.In)) // the link remembers this
	datapaths[1].woken, datapaths[1].socketTurns = false, 0
	run := [][]byte{make([]byte, 10_000)}
	must(t, p[0].Send(p[1].local, run, 1000))
	socket := func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(datapaths[1].fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		must(t, err)
		return n > 0
	}
	if !socket() {
		t.Fatal("no datagram arrived at the socket")
	}
	if readable() {
		t.Error("the descriptor is readable for the socket's data though every pass receives")
	}
	for deadline := time.Now().Add(patience); len(in[1].got) < 10; p[1].Poll() {
		if time.Now().After(deadline) {
			t.Fatalf("received %d datagrams", len(in[1].got))
		}
	}
	must(t, p[0].Send(p[1].local, run, 1000))
	if !socket() {
		t.Fatal("no datagram arrived at the socket")
	}
	must(t, datapaths[1].direct(false))
	if !readable() {
		t.Error("the descriptor is not readable though the socket has data")
	}
}

// TestXDPLinkLocal: datagrams of link-local addresses have a source address that can be answered.
func TestXDPLinkLocal(t *testing.T) {
	a, b := places(t)
	var p [2]*port
	var in [2]*inbox
	for i, h := range []*veth.Host{a, b} {
		at := []string{"fe80::98:1", "fe80::98:2"}[i]
		h.Address("eth9", at+"/64")
		h.Enter()
		p[i], in[i] = testPort(t, testDomain(t, "LINK", linkXDP), netip.MustParseAddr(at+"%eth9"))
		if p[i].xdp == nil {
			t.Fatal(p[i].noXDP)
		}
	}
	for deadline := time.Now().Add(patience); ; {
		was := p[1].counts()
		must(t, p[0].send(p[1].local, 0, []byte{1}))
		var from netip.AddrPort
		p[1].d.until(t, "a datagram arrives", func() bool {
			if len(in[1].got) > 0 {
				from, in[1].got = in[1].got[0].from, nil
			}
			return from.IsValid()
		})
		// The zone's name is that of the namespace of the receiving thread. Here this is any thread; an application
		// has one namespace.
		if want := p[0].local; from.Port() != want.Port() || from.Addr().WithZone("") != want.Addr().WithZone("") ||
			from.Addr().Zone() == "" {
			t.Fatalf("the datagram came from %v, want %v", from, want)
		}
		if p[1].counts().BypassReceived > was.BypassReceived {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no datagram bypasses the system's stack")
		}
	}
	receives(t, p[1], p[0], in[0], 9)
}
