//go:build linux && !fabricbasic

package udp

import (
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/core"
)

// TestGSOSwitchesOff: a port whose socket refuses runs sends them one by one from then on, without loss.
func TestGSOSwitchesOff(t *testing.T) {
	d := testDomain(t)
	a, _ := testPort(t, d, loopback4)
	b, in := testPort(t, d, loopback4)
	if a.segments == 1 {
		notHere(t, "no GSO")
	}
	// The kernel does not segment datagrams of a socket without checksums.
	must(t, unix.SetsockoptInt(int(a.main.fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
	for i := 1; i <= 2; i++ {
		must(t, a.send(b.Local(), 400, make([]byte, 1800)))
		d.until(t, "five more datagrams arrive", func() bool { return len(in.got) == 5*i })
	}
	if a.MaxSegments() != 1 || a.gsoOff != syscall.EINVAL || !strings.Contains(a.String(), "off after") {
		t.Errorf("%v: MaxSegments %d", a, a.MaxSegments())
	}
	if s := a.counts(); s.SentDatagrams != 10 || s.SentBytes != 3600 || s.SendErrors != 0 {
		t.Errorf("%+v", s)
	}
}

// TestWritable: a port whose socket was full reports when it takes more, for each goroutine that may make the
// progress.
func TestWritable(t *testing.T) {
	d := testDomain(t)
	a, in := testPort(t, d, loopback4)
	for _, passing := range []bool{true, false} {
		d.prog.Lock()
		in.writable = 0
		a.block()
		if err := a.Send(a.Local(), nil, 0); err != core.ErrAgain {
			t.Errorf("Send on a full socket: %v", err)
		}
		d.prog.Unlock()
		if passing {
			d.until(t, "the port calls Writable", func() bool { return in.writable > 0 })
		}
		d.untilItself(t, "the port calls Writable", func() bool { return in.writable > 0 })
		if in.writable != 1 {
			t.Errorf("Writable %d times", in.writable)
		}
		must(t, a.send(a.Local(), 0, nil))
	}
}

// TestNoAllocations: datagrams and runs pass without allocation.
func TestNoAllocations(t *testing.T) {
	for name, v := range variants {
		for _, at := range []netip.Addr{loopback4, loopback6} {
			d := testDomain(t, v...)
			a, _ := testPort(t, d, at)
			s := &sink{}
			b := portAt(t, d, netip.AddrPortFrom(at, 0), s)
			parts := [][]byte{make([]byte, 64), make([]byte, 2000)}
			bytes := 0
			round := func() {
				d.prog.Lock()
				defer d.prog.Unlock()
				for i := range 40 {
					n := 1 + i%2
					seg := 1000 * (i % 2)
					bytes += 64 + 2000*(n-1)
					must(t, a.Send(b.local, parts[:n], seg))
				}
				for s.bytes < bytes {
					d.prog.Pass()
				}
				b.MaxDatagram(a.local)
				b.Stats()
			}
			if n := testing.AllocsPerRun(20, round); n != 0 {
				t.Errorf("%s, %v: %v allocations", name, at, n)
			}
		}
	}
}

// TestGROAfterBurst: a port receives datagrams one by one until the first burst, and then in batches.
func TestGROAfterBurst(t *testing.T) {
	if sys := thisSystem(); !sys.gso || !sys.gro {
		notHere(t, "no GSO or GRO:", sys)
	}
	d := testDomain(t)
	a, _ := testPort(t, d, loopback4)
	b, in := testPort(t, d, loopback4)
	d.prog.Lock()
	defer d.prog.Unlock()
	for _, c := range []struct{ count, runs int }{{burst - 1, 0}, {40, 0}, {40, 1}} {
		in.got, in.runs = nil, 0
		must(t, a.Send(b.local, [][]byte{make([]byte, 1000*c.count)}, 1000))
		for len(in.got) < c.count {
			b.Poll()
		}
		if in.runs != c.runs || len(in.got) != c.count {
			t.Errorf("%d datagrams: received %d, %d runs, want %d; %v", c.count, len(in.got), in.runs, c.runs, b)
		}
	}
	if !b.batch().gro || a.batch().gro {
		t.Errorf("receiver %v, sender %v", b, a)
	}
}

// refusals is an inbox that also receives ICMP errors.
type refusals struct {
	inbox
	dests []netip.AddrPort
}

func (r *refusals) Refused(dest netip.AddrPort, _ error) { r.dests = append(r.dests, dest) }

// TestSendSeparatelyRefused: ICMP errors about a burst to a closed port are reported, for each call that may receive them.
func TestSendSeparatelyRefused(t *testing.T) {
	for _, v := range []string{"plain", "lists", "batches"} {
		d := testDomain(t, variants[v]...)
		r := &refusals{}
		a := portAt(t, d, netip.AddrPortFrom(loopback4, 0), r)
		b, _ := testPort(t, d, loopback4)
		gone := b.Local()
		d.prog.Lock()
		must(t, b.Close())
		if a.Send(gone, [][]byte{make([]byte, 2000)}, 100) == core.ErrAgain {
			t.Error("the socket is full")
		}
		d.prog.Unlock()
		d.until(t, "an ICMP error is reported", func() bool { return len(r.dests) > 0 })
		if r.dests[0] != gone {
			t.Errorf("%s: refused by %v, want %v", v, r.dests[0], gone)
		}
	}
}
