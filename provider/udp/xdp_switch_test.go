//go:build linux

package udp

import (
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/test/wait"
)

// waits reports whether datagrams wait that the current link has not received.
func (p *port) waits() bool {
	if x, ok := p.xdp.(*xdpDatapath); ok {
		return !x.port.Empty()
	}
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(p.main.fd), Events: unix.POLLIN}}, 0)
	return n > 0
}

// kinds returns how many different bytes below most have arrived.
func (r *inbox) kinds(most int) int {
	seen := map[string]bool{}
	for _, g := range r.got {
		if len(g.data) == 1 && int(g.data[0]) < most {
			seen[g.data] = true
		}
	}
	return len(seen)
}

// TestXDPChosenUnderWay: datagrams in flight while the link is changed arrive, for each link that sent and each
// that receives them.
func TestXDPChosenUnderWay(t *testing.T) {
	const count = 100 // more than one receive takes
	a, b := places(t)
	b.Enter()
	other := testDomain(t)
	q, back := testPort(t, other, netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	d := testDomain(t)
	p, in := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	testPort(t, testDomain(t, "LINK", linkXDP), p.local.Addr()) // keeps the interface open, as other endpoints do
	for _, to := range []core.Datapath{core.DatapathXDP, core.DatapathSockets, core.DatapathXDP, core.DatapathSockets} {
		bypassed := p.xdp != nil
		must(t, q.send(p.local, 0, []byte{count})) // the neighbour is known from now on
		d.until(t, "the datagram from before", func() bool { return len(in.got) > 0 })
		other.until(t, "a datagram through the current link", func() bool { // the headers for it may not be known yet
			must(t, p.send(q.local, 0, []byte{count}))
			return !bypassed || p.counts().BypassSent > 0 && p.xdp.(*xdpDatapath).peer(q.local) != nil
		})
		other.until(t, "no datagram arrives any more", func() bool { n := len(back.got); back.got = nil; return n == 0 })
		d.prog.Lock()
		in.got = nil
		was := p.Stats()
		for i := range count {
			must(t, q.send(p.local, 0, []byte{byte(i)}))
			must(t, p.Send(q.local, [][]byte{{byte(i)}}, 0))
		}
		if x, ok := p.xdp.(*xdpDatapath); ok && x.unflushed == 0 {
			must(t, p.Send(q.local, [][]byte{{count}}, 0)) // a datagram that waits for others
		}
		wait.Until(t, "a datagram waits", p.waits)
		must(t, p.SetDatapath(to))
		d.prog.Unlock()
		// No pass receives for p.
		d.untilItself(t, fmt.Sprintf("all datagrams in flight at the change to %v arrive", to), func() bool {
			return in.kinds(count) == count
		})
		other.until(t, "all datagrams that the port had sent at the change", func() bool {
			return back.kinds(count) == count
		})
		if s := p.counts(); bypassed && s.BypassReceived-was.BypassReceived == 0 {
			t.Errorf("no datagram bypassed the stack: %+v", s)
		}
	}
}
