//go:build linux && !fabricbasic

package udp

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
)

// asideLink is the AF_XDP link of a port.
func asideLink(t *testing.T, p *port) *xdpLink {
	t.Helper()
	l, ok := p.express.(*xdpLink)
	if !ok {
		t.Fatal(p.noXDP)
	}
	return l
}

// flood sends runs to p until the program of its interface is aside.
func flood(t *testing.T, q, p *port, l *xdpLink) {
	t.Helper()
	run := make([]byte, 40*1400)
	p.d.until(t, "the program steps aside", func() bool {
		for range 4 {
			q.send(p.local, 1400, run) // a full socket takes some later
		}
		return l.iface.Aside()
	})
}

// TestXDPAside: while large messages come, the program may be off the interface; nothing that comes is lost then, and it is on again when they have ended. It stays
// on where AF_XDP was asked for and nothing else, or that is not wanted.
func TestXDPAside(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	d := testDomain(t, "LINK", linkAuto)
	p, in := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	l := asideLink(t, p)
	for range 2 {
		flood(t, q, p, l)
		d.until(t, "a datagram while the program is aside", func() bool {
			q.send(p.local, 0, make([]byte, 8))
			n := len(in.got)
			return n > 0 && len(in.got[n-1].data) == 8
		})
		d.until(t, "the program is back", func() bool { in.got = nil; return !l.iface.Aside() })
		was := p.counts()
		if was.BypassAside == 0 || !strings.Contains(p.String(), "stepped aside") {
			t.Errorf("%+v; %v", was, p)
		}
		for end := time.Now().Add(patience); p.counts().BypassReceived <= was.BypassReceived; { // a last order to step aside may be under way
			if hears(t, q, p, in, 8); time.Now().After(end) {
				t.Fatalf("%+v; before, %+v", p.counts(), was)
			}
		}
	}
	must(t, d.setLink(p, core.LinkXDP))
	if l.flow.on {
		t.Error("a port for which AF_XDP was asked, and nothing else, lets it step aside")
	}
	must(t, d.setLink(p, core.LinkAuto))
	if !l.flow.on {
		t.Error("a port that may choose does not let it step aside")
	}
	for _, set := range [][]string{{"LINK", linkXDP}, {"LINK", linkAuto, "XDP_ASIDE", "0"}} {
		p, _ := testPort(t, testDomain(t, set...), netip.MustParseAddr("10.98.0.1"))
		if asideLink(t, p).flow.on {
			t.Errorf("%v: it lets the program step aside", set)
		}
	}
}

// TestXDPRested: while the program is aside, who looks many times and finds nothing says so, for it to come back; what is found begins the count anew.
func TestXDPRested(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	p, _ := testPort(t, testDomain(t, "LINK", linkAuto), netip.MustParseAddr("10.98.0.1"))
	l := asideLink(t, p)
	p.d.prog.Lock()
	defer p.d.prog.Unlock()
	told, looks := 0, 0
	l.rested = func(mono.Time) { told++ }
	// However busy the processors are: it is told of large messages that come in an hour, so that no timer finds that they have ended.
	begin := mono.Now().Add(time.Hour)
	l.iface.Came(begin, 0, 0, 0)
	if !l.iface.Came(begin.Add(3*time.Millisecond), 10<<20, 100, 0) {
		t.Fatal("the program does not step aside")
	}
	for deadline, was, far := time.Now().Add(patience), l.received, false; !far || l.received != was; { // until none takes the short way any more
		was = l.received
		must(t, q.send(p.local, 0, make([]byte, 8)))
		_, _, err := l.receive(false)
		far = err == 0 && l.iface.Aside()
		if time.Now().After(deadline) {
			t.Fatal("nothing comes by the socket")
		}
	}
	sent, found := false, false
	for told == 0 && looks < 2*restedAfter {
		if looks++; looks == restedAfter/2 && !sent {
			sent = true
			must(t, q.send(p.local, 0, make([]byte, 8)))
		}
		if _, _, err := l.receive(false); err == 0 {
			found = sent
			looks = 0 // the next one is the first in vain
		}
	}
	if !found {
		t.Error("what was sent meanwhile did not come")
	}
	if looks != restedAfter {
		t.Errorf("told after %d looks in vain, not %d", looks, restedAfter)
	}
}

// TestXDPAsideLost: a port whose program cannot come back, as its interface tells, goes on through its socket, and says why.
func TestXDPAsideLost(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	p, in := testPort(t, testDomain(t, "LINK", linkAuto), netip.MustParseAddr("10.98.0.1"))
	l := asideLink(t, p)
	hears(t, q, p, in, 8)
	l.lost(errors.New("another is there"))
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		p.d.prog.Lock()
		gone, says := p.express == nil, p.String()
		p.d.prog.Unlock()
		if gone {
			if !strings.Contains(says, "no AF_XDP: its program had stepped aside for large messages: another is there") {
				t.Error(says)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the port has not noticed")
		}
	}
	hears(t, q, p, in, 8)
	l.lost(errors.New("again")) // its link has ended
}
