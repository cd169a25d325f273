//go:build linux

package udp

import (
	"fmt"
	"net/netip"
	"os/exec"
	"testing"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/test/need"
	"gofabric/test/veth"
)

// places makes two hosts connected by a veth pair: 10.98.0.1 and fd98::1, 10.98.0.2 and fd98::2.
func places(t *testing.T) (a, b *veth.Host) { return veth.Pair(t, veth.Options{Net: 98}) }

// TestPathMTU sends as much as the veth pair takes in one piece, and more.
func TestPathMTU(t *testing.T) {
	a, b := places(t)
	for _, c := range []struct {
		mine, theirs  string
		headers, most int // most: the longest datagram possible
	}{{"10.98.0.1", "10.98.0.2", 28, 65507}, {"fd98::1", "fd98::2", 48, 65507}} {
		for _, mtu := range []int{1500, 9000, 1400} {
			a.IP("link", "set", "eth9", "mtu", fmt.Sprint(mtu))
			b.IP("link", "set", "eth9", "mtu", fmt.Sprint(mtu))
			d, long := testDomain(t), testDomain(t, "MTU", "65507")
			b.Enter()
			to, in := testPort(t, d, netip.MustParseAddr(c.theirs))
			a.Enter()
			p, _ := testPort(t, d, netip.MustParseAddr(c.mine))
			q, _ := testPort(t, long, netip.MustParseAddr(c.mine))
			whole := mtu - c.headers
			d.prog.Lock()
			if n := p.MaxDatagram(to.local); n != whole {
				t.Errorf("%s, MTU %d: MaxDatagram is %d", c.mine, mtu, n)
			}
			d.prog.Unlock()
			try := func(p *port, size, seg int, want error) {
				t.Helper()
				d.prog.Lock()
				in.got = nil
				d.prog.Unlock()
				if err := p.send(to.local, seg, make([]byte, size)); err != want {
					t.Errorf("%s, MTU %d: %d bytes by %d: %v, want %v", c.mine, mtu, size, seg, err, want)
				} else if err == nil {
					count := 1
					if seg > 0 {
						count = (size + seg - 1) / seg
					}
					d.until(t, "the datagrams that were sent", func() bool { return len(in.got) == count })
				}
			}
			try(p, whole, 0, nil)
			try(p, nativeMTU, 0, nil) // fragmented if necessary
			try(p, max(whole, nativeMTU)+1, 0, core.ErrMsgSize)
			try(p, netx.MaxDatagram/whole*whole, whole, nil)
			try(p, 3*(max(whole, nativeMTU)+1), max(whole, nativeMTU)+1, core.ErrMsgSize)
			try(q, whole+1, 0, nil)
			try(q, c.most, 0, nil)
			try(q, 3*(whole+1), whole+1, nil)
			if thisSystem().gso && (p.segments == 1 || q.segments == 1) {
				t.Errorf("%v, %v: a refusal of datagrams that are too long was taken for a lack of GSO", p, q)
			}
			if s := p.counts(); s.SendErrors != 1+3 {
				t.Errorf("%+v", s)
			}
		}
	}
}

// TestMTUShrinks: after the first refusal MaxDatagram returns the new length.
func TestMTUShrinks(t *testing.T) {
	a, b := places(t)
	d := testDomain(t)
	b.Enter()
	to, _ := testPort(t, d, netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	a.IP("link", "set", "eth9", "mtu", "9000")
	b.IP("link", "set", "eth9", "mtu", "9000")
	p, _ := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	d.prog.Lock()
	defer d.prog.Unlock()
	if n := p.MaxDatagram(to.local); n != 8972 {
		t.Errorf("MaxDatagram is %d", n)
	}
	a.IP("link", "set", "eth9", "mtu", "4000")
	if n := p.MaxDatagram(to.local); n != 8972 {
		t.Errorf("MaxDatagram is %d though nothing was sent", n)
	}
	if err := p.Send(to.local, [][]byte{make([]byte, 8972)}, 0); err != core.ErrMsgSize {
		t.Error(err)
	}
	if n := p.MaxDatagram(to.local); n != 3972 {
		t.Errorf("MaxDatagram is %d after the change", n)
	}
}

// TestFullSocket sends faster than the link. The port reports that it is full, loses nothing, and reports when it
// takes more.
func TestFullSocket(t *testing.T) {
	need.Programs(t, "iproute2", "tc")
	a, b := places(t)
	if out, err := exec.Command("tc", "-n", a.Name, "qdisc", "add", "dev", "eth9", "root", "tbf", "rate", "200mbit", "burst", "64kb", "latency", "60s").CombinedOutput(); err != nil {
		need.Missing(t, "the kernel has no token bucket: %v: %s", err, out)
	}
	for _, v := range variants {
		d := testDomain(t, v...)
		b.Enter()
		to, in := testPort(t, d, netip.MustParseAddr("10.98.0.2"))
		a.Enter()
		p, mine := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
		data := make([]byte, 14000)
		sent, full := 0, 0
		for full < 3 {
			d.prog.Lock()
			mine.writable = 0
			err := p.Send(to.local, [][]byte{data}, 1400)
			d.prog.Unlock()
			switch {
			case err == nil:
				sent += 10
			case err == core.ErrAgain:
				full++
				d.until(t, "the port has room again", func() bool { return mine.writable > 0 })
			case err == core.ErrNoBufs && p.segments == 1:
				sent += 10 // all but those that are counted
				d.until(t, "the port has room again", func() bool { return mine.writable > 0 })
				full++
			default:
				t.Fatal(err)
			}
			if sent > 100_000 {
				t.Fatal("the socket was never full")
			}
		}
		lost := int(p.counts().SendErrors)
		d.until(t, "the datagrams that were sent", func() bool { return len(in.got) >= sent-lost })
		if n := to.counts().Overflows; len(in.got) != sent-lost || n != 0 || lost > 0 && p.segments > 1 {
			t.Errorf("%v: received %d of %d, %d lost at the sender, %d at the receiver", p, len(in.got), sent, lost, n)
		}
	}
}
