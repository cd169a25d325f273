//go:build linux

package udp

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"gofabric/internal/xdp"
)

// TestXDPOldLosses: a port does not count datagrams that the interface lost before it was opened.
func TestXDPOldLosses(t *testing.T) {
	a, b := places(t)
	a.Enter()
	d := testDomain(t, "LINK", linkXDP)
	p, _ := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	b.Enter()
	c, err := net.Dial("udp4", p.local.String())
	must(t, err)
	defer c.Close()
	d.prog.Lock() // no pass receives
	for range 3 * 4096 {
		_, err := c.Write(make([]byte, 64))
		must(t, err)
	}
	old, says := p.Stats().Overflows, p.xdp.String()
	d.prog.Unlock()
	if old < 4096 {
		t.Errorf("%d datagrams were dropped for lack of room", old)
	}
	if want := fmt.Sprintf("%d of them because all frames waited to be read", old); !strings.Contains(says, want) {
		t.Errorf("the text %q lacks %q", says, want)
	}
	a.Enter()
	q, _ := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	if q.xdp == nil {
		t.Fatal(q.noXDP)
	}
	if n := q.counts().Overflows; n > 0 {
		t.Errorf("a new port counts %d losses from before it", n)
	}
}

// TestXDPNeglected: a port does not receive, while a port of another domain does. Datagrams for the first wait up
// to a bound. It counts the rest as lost, and receives those that wait.
func TestXDPNeglected(t *testing.T) {
	const most, sent = 1024, 1500 // a quarter of a queue's chunks (internal/xdp, queue.toBox)
	a, b := places(t)
	a.Enter()
	lazy, busy := testDomain(t, "LINK", linkXDP), testDomain(t, "LINK", linkXDP)
	p, in := testPort(t, lazy, netip.MustParseAddr("10.98.0.1"))
	q, _ := testPort(t, busy, netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil || q.xdp == nil {
		t.Fatal(p.noXDP, q.noXDP)
	}
	b.Enter()
	c, err := net.Dial("udp4", p.local.String())
	must(t, err)
	defer c.Close()
	lazy.prog.Lock()
	unlock := sync.OnceFunc(lazy.prog.Unlock)
	defer unlock()
	for range sent {
		_, err := c.Write(make([]byte, 64))
		must(t, err)
	}
	busy.until(t, "the surplus datagrams of the idle port are dropped", func() bool {
		return p.Stats().Overflows >= sent-most && q.xdp.(*xdpDatapath).port.Empty()
	})
	if n := p.Stats().Overflows; n != sent-most {
		t.Errorf("%d datagrams lost, want %d", n, sent-most)
	}
	unlock()
	lazy.until(t, "the waiting datagrams arrive", func() bool { return len(in.got) >= most })
	if n, lost := len(in.got), p.counts().Overflows; n != most || lost != sent-most {
		t.Errorf("received %d datagrams, %d are lost", n, lost)
	}
	if n := q.counts().Overflows; n != 0 {
		t.Errorf("the other port lost %d", n)
	}
}

// TestXDPNoFrames: a datagram for which there is no free frame goes through the socket.
func TestXDPNoFrames(t *testing.T) {
	a, b := places(t)
	d, p, in, datapaths := xdpPair(t, a, b)
	d.until(t, "all datagrams from before", func() bool { in[1].got = nil; return true })
	d.prog.Lock()
	datapaths[0].packet = nil // uses no frame
	f := make([]xdp.Frame, 1<<12)
	f = f[:datapaths[0].port.Reserve(f)]
	err := p[0].Send(p[1].local, [][]byte{{77}}, 0)
	starved := datapaths[0].noFrames
	datapaths[0].port.Discard(f)
	d.prog.Unlock()
	must(t, err)
	if len(f) == 0 || len(f) == cap(f) || starved != 1 {
		t.Errorf("%d frames taken, %d datagrams had none", len(f), starved)
	}
	d.until(t, "the datagram without a frame", func() bool {
		for _, g := range in[1].got {
			if g.data == "M" {
				return true
			}
		}
		return false
	})
}
