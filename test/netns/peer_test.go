//go:build linux

package netns

import (
	"strings"
	"testing"
	"time"
)

// TestPeerKilled kills the peer's process in the middle of a transfer. The error is a reset, at once. A new process on
// the same port receives the next messages.
func TestPeerKilled(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb, nameA, nameB := rdmPair(t, a, b, a.v4, b.v4)
	rb.do("recv %d 32", 1<<20)
	ra.do("stream 0 %d 16", 1<<20)
	ra.want("STREAMED 128", long)
	rb.Kill()
	began := time.Now()
	for range 16 {
		l := ra.want("ERR stream", peerTimeout)
		oneOf(t, l, "FI_ECONNRESET", "FI_EPIPE", "FI_ECONNREFUSED")
		if !strings.Contains(l, nameB) {
			t.Errorf("the error does not name the peer %s: %q", nameB, l)
		}
	}
	within(t, "all sends failed", began, 0)

	ra.do("send 0 8") // no process listens now
	oneOf(t, ra.want("ERR send", connectTimeout+slack), "FI_ECONNREFUSED")

	rb = b.start()
	if name := rb.do("open rdm %s 7000", b.v4); name != nameB {
		t.Fatalf("restarted at %s, want %s", name, nameB)
	}
	rb.do("recv 64 4")
	again(t, ra, rb)

	// Now the new process connects, while a still has its connection to the old one.
	rb.do("insert %s", nameA)
	ra.do("recv 64 4")
	rb.do("send 0 9")
	ra.want("RECEIVED 9", long)
}

// TestPeerRestarted restarts the peer while the link is down, so that its end of the old connection closes silently.
// Its connection request replaces the connection that a still has, without waiting for the time-out.
func TestPeerRestarted(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb, nameA, _ := rdmPair(t, a, b, a.v4, b.v4)
	rb.do("recv 64 4")
	ra.do("recv 64 4")
	ra.do("send 0 8")
	rb.want("RECEIVED 8", long)
	b.IP("addr", "del", b.v4+"/24", "dev", "eth9") // the reset cannot leave
	rb.Kill()
	b.IP("addr", "add", b.v4+"/24", "dev", "eth9")
	rb = b.start()
	rb.do("open rdm %s 7000", b.v4)
	rb.do("insert %s", nameA)
	rb.do("recv 64 4")
	rb.do("send 0 9")
	ra.want("RECEIVED 9", connectTimeout+slack)
	ra.do("send 0 10")
	rb.want("RECEIVED 10", connectTimeout+slack)
}

// TestMsgPeerKilled checks that a connected endpoint gets an event when its peer ends.
func TestMsgPeerKilled(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb := msgPair(t, a, b, a.v4, b.v4)
	rb.do("recv %d 32", 1<<20)
	ra.do("stream 0 %d 16", 1<<20)
	ra.want("STREAMED 128", long)
	rb.Kill()
	began := time.Now()
	ra.want("SHUTDOWN", peerTimeout)
	within(t, "shutdown event", began, 0)
	for range 16 {
		ra.want("ERR stream", peerTimeout)
	}
}

// TestIPv6 exchanges messages over IPv6 with both types of endpoint.
func TestIPv6(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb, _, _ := rdmPair(t, a, b, a.v6, b.v6)
	exchange(ra, rb)
	ra, rb = msgPairOnPort(t, a, b)
	exchange(ra, rb)
	b.unplug()
	ra.want("SHUTDOWN", peerTimeout+slack)
}

// msgPairOnPort is msgPair over IPv6, beside an RDM endpoint.
func msgPairOnPort(t *testing.T, a, b *host) (ra, rb *remote) {
	t.Helper()
	ra, rb = a.start(), b.start()
	ra.do("open msg %s 0", a.v6)
	rb.do("open msg %s 7001", b.v6)
	ra.do("connect %s", rb.do("listen"))
	ra.want("CONNECTED", long)
	rb.want("CONNECTED", long)
	return ra, rb
}

func exchange(ra, rb *remote) {
	for _, r := range []*remote{ra, rb} {
		r.do("recv 64 4")
	}
	ra.do("send 0 8")
	rb.want("RECEIVED 8", long)
	rb.do("send 0 9")
	ra.want("RECEIVED 9", long)
}

// TestIface selects interfaces with FI_TCP_IFACE.
func TestIface(t *testing.T) {
	t.Parallel()
	a, _ := newHosts(t)
	for _, n := range []string{"blue0", "blue1"} {
		a.IP("link", "add", n, "type", "veth", "peer", "name", "x"+n)
		a.IP("link", "set", n, "up")
		a.IP("link", "set", "x"+n, "up")
	}
	a.IP("addr", "add", "10.98.0.1/24", "dev", "blue0")
	a.IP("addr", "add", "10.97.0.1/24", "dev", "blue1")
	tests := []struct{ spec, want, not string }{
		{"eth9", "10.99.0.1 fd99::1", "10.98.0.1 10.97.0.1 127.0.0.1"},
		{"blue0", "10.98.0.1", "10.99.0.1 10.97.0.1 127.0.0.1 fd99::1"},
		{"blue*", "10.98.0.1 10.97.0.1", "10.99.0.1 127.0.0.1 fd99::1"},
		{"blue[1-9],eth*", "10.97.0.1 10.99.0.1", "10.98.0.1 127.0.0.1"},
		{"10.98.0.0/16", "10.98.0.1", "10.99.0.1 10.97.0.1 127.0.0.1 fd99::1"},
		{"10.96.0.0/14", "10.97.0.1 10.98.0.1 10.99.0.1", "127.0.0.1 fd99::1"},
		{"10.97.0.1", "10.97.0.1", "10.98.0.1 10.99.0.1 127.0.0.1"},
		{"fd99::/16", "fd99::1", "10.99.0.1 127.0.0.1"},
		{"^blue*", "10.99.0.1 fd99::1 127.0.0.1", "10.98.0.1 10.97.0.1"},
		{"^10.0.0.0/8,lo", "fd99::1", "10.97.0.1 10.98.0.1 10.99.0.1 127.0.0.1"},
		{"nosuch0", "none:", "10.99.0.1"},
	}
	for _, tt := range tests {
		got := a.start("FI_TCP_IFACE=" + tt.spec).do("infos tcp")
		for _, ip := range strings.Fields(tt.want) {
			if !strings.Contains(" "+got+" ", " "+ip+" ") {
				t.Errorf("FI_TCP_IFACE=%s: %s; want %s", tt.spec, got, ip)
			}
		}
		for _, ip := range strings.Fields(tt.not) {
			if strings.Contains(" "+got+" ", " "+ip+" ") {
				t.Errorf("FI_TCP_IFACE=%s: %s lacks %s", tt.spec, got, ip)
			}
		}
	}
	if l := a.start("FI_TCP_IFACE=blue[").do("infos tcp"); !strings.Contains(l, "blue[") {
		t.Errorf("a bad pattern: %q; want an error that names it", l)
	}
}
