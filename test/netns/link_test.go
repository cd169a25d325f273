//go:build linux

package netns

import (
	"strings"
	"testing"
	"time"
)

// Errors that the kernel reports for a peer that does not answer.
var unreachable = []string{"FI_ETIMEDOUT", "FI_EHOSTUNREACH", "FI_ENETUNREACH", "FI_EHOSTDOWN", "FI_ENETDOWN"}

// rdmPair opens an RDM endpoint on each host. Each has the other as index 0.
func rdmPair(t *testing.T, a, b *host, ipA, ipB string) (ra, rb *remote, nameA, nameB string) {
	t.Helper()
	ra, rb = a.start(), b.start()
	nameA, nameB = ra.do("open rdm %s 7000", ipA), rb.do("open rdm %s 7000", ipB)
	ra.do("insert %s", nameB)
	rb.do("insert %s", nameA)
	return ra, rb, nameA, nameB
}

// msgPair connects MSG endpoints. b listens.
func msgPair(t *testing.T, a, b *host, ipA, ipB string) (ra, rb *remote) {
	t.Helper()
	ra, rb = a.start(), b.start()
	ra.do("open msg %s 0", ipA)
	rb.do("open msg %s 7000", ipB)
	ra.do("connect %s", rb.do("listen"))
	ra.want("CONNECTED", long)
	rb.want("CONNECTED", long)
	return ra, rb
}

// within checks that something happened in time.
func within(t *testing.T, what string, since time.Time, limit time.Duration) {
	t.Helper()
	d := time.Since(since)
	t.Logf("%s after %v", what, d.Round(time.Millisecond))
	if d > limit+slack {
		t.Errorf("%s took %v, want at most %v", what, d, limit)
	}
}

// cuts are the ways in which b becomes unreachable without telling its peers, and reachable again.
var cuts = []struct {
	name      string
	cut, mend func(a, b *host)
}{
	{"unplugged", func(a, b *host) { b.unplug() }, func(a, b *host) { b.plug() }},
	{"own link down", func(a, b *host) { a.unplug() }, func(a, b *host) { a.plug() }},
	{"peer lost its address", func(a, b *host) { b.IP("addr", "del", b.v4+"/24", "dev", "eth9") },
		func(a, b *host) { b.IP("addr", "add", b.v4+"/24", "dev", "eth9") }},
}

// TestTransferCut cuts the link in the middle of a stream of large messages. Every send ends with an error that names
// the peer. After the repair messages arrive over a new connection.
func TestTransferCut(t *testing.T) {
	t.Parallel()
	for _, c := range cuts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			ra, rb, _, nameB := rdmPair(t, a, b, a.v4, b.v4)
			rb.do("recv %d 32", 1<<20)
			const depth = 16
			ra.do("stream 0 %d %d", 1<<20, depth)
			ra.want("STREAMED 128", long)
			c.cut(a, b)
			began := time.Now()
			for range depth {
				l := ra.want("ERR stream", peerTimeout+slack+connectTimeout)
				oneOf(t, l, unreachable...)
				if !strings.Contains(l, nameB) {
					t.Errorf("the error does not name the peer %s: %q", nameB, l)
				}
			}
			within(t, "all sends failed", began, peerTimeout)
			c.mend(a, b)
			again(t, ra, rb)
		})
	}
}

// TestMessageCut cuts the link in the middle of one huge message. Both ends notice, and the receive fails as the send
// does.
func TestMessageCut(t *testing.T) {
	t.Parallel()
	const huge = 512 << 20
	a, b := newHosts(t)
	ra, rb, nameA, nameB := rdmPair(t, a, b, a.v4, b.v4)
	rb.do("recv %d 2", huge)
	ra.do("send 0 8")
	rb.want("RECEIVED 8", long)
	ra.want("SENT", long)
	ra.do("send 0 %d", huge)
	b.unplug()
	began := time.Now()
	for _, end := range []struct {
		r          *remote
		what, peer string
	}{{ra, "ERR send", nameB}, {rb, "ERR recv", nameA}} {
		l := end.r.want(end.what, peerTimeout+slack)
		oneOf(t, l, unreachable...)
		if !strings.Contains(l, end.peer) {
			t.Errorf("the error does not name the peer %s: %q", end.peer, l)
		}
	}
	within(t, "both ends had noticed", began, peerTimeout)
	b.plug()
	again(t, ra, rb)
}

// again sends until a message arrives. The first attempts may fail while the link comes up.
func again(t *testing.T, ra, rb *remote) {
	t.Helper()
	ra.forget()
	began := time.Now()
	for time.Since(began) < long {
		ra.do("send 0 8")
		for {
			l := ra.want("", connectTimeout+peerTimeout+slack)
			if strings.HasPrefix(l, "ERR send") {
				break
			}
			if l == "SENT" {
				rb.want("RECEIVED 8", long)
				t.Logf("messages arrive again after %v", time.Since(began).Round(time.Millisecond))
				return
			}
		}
	}
	t.Error("no message arrives after the repair")
}

// TestIdleCut cuts the link of an idle connection. MSG endpoints get an event. An RDM endpoint's next send fails in
// time, and succeeds after the repair.
func TestIdleCut(t *testing.T) {
	t.Parallel()
	for _, c := range cuts {
		t.Run("msg "+c.name, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			ra, rb := msgPair(t, a, b, a.v4, b.v4)
			rb.do("recv 64 4")
			ra.do("recv 64 4")
			ra.do("send 0 8")
			rb.want("RECEIVED 8", long)
			began := time.Now()
			c.cut(a, b)
			for _, r := range []*remote{ra, rb} {
				r.want("SHUTDOWN", peerTimeout+slack)
				within(t, "shutdown event", began, peerTimeout)
				for range 4 { // posted receives are cancelled
					r.want("ERR recv FI_ECANCELED", slack)
				}
			}
		})
		t.Run("rdm "+c.name, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			ra, rb, _, nameB := rdmPair(t, a, b, a.v4, b.v4)
			rb.do("recv 64 4")
			ra.do("send 0 8")
			ra.want("SENT", long)
			rb.want("RECEIVED 8", long)
			c.cut(a, b)
			began := time.Now()
			ra.do("send 0 1048576") // more than fits into the socket, so that the peer must acknowledge some
			ra.do("send 0 4194304")
			for {
				l := ra.want("", peerTimeout+slack)
				if l == "SENT" {
					continue // the kernel has accepted it
				}
				oneOf(t, l, unreachable...)
				if !strings.HasPrefix(l, "ERR send") || !strings.Contains(l, nameB) {
					t.Errorf("the error does not name the peer %s: %q", nameB, l)
				}
				break
			}
			within(t, "send failed", began, peerTimeout)
			c.mend(a, b)
			again(t, ra, rb)
		})
	}
}

// TestBlackHole connects to an address without a host, and to a host that drops the packets.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	for _, dest := range []string{"10.99.0.66:7000", "10.99.0.77:7000"} {
		t.Run(dest, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			a.IP("neigh", "add", "10.99.0.66", "lladdr", b.mac(), "dev", "eth9", "nud", "permanent")
			ra, rm := a.start(), a.start()
			ra.do("open rdm %s 0", a.v4)
			ra.do("insert %s", dest)
			rm.do("open msg %s 0", a.v4)
			began := time.Now()
			ra.do("send 0 8")
			ra.do("send 0 65536")
			rm.do("connect %s", dest)
			for _, l := range []string{
				ra.want("ERR send", connectTimeout+slack),
				ra.want("ERR send", connectTimeout+slack),
				rm.want("EQERR", connectTimeout+slack),
			} {
				oneOf(t, l, unreachable...)
				if !strings.Contains(l, dest) {
					t.Errorf("the error does not name the peer %s: %q", dest, l)
				}
			}
			within(t, "sends and connect failed", began, connectTimeout)
		})
	}
}

// TestUnreachable sends to an address without a route, which fails at once.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	a, _ := newHosts(t)
	ra := a.start()
	ra.do("open rdm %s 0", a.v4)
	ra.do("insert 192.0.2.1:7000")
	began := time.Now()
	if l := ra.refused("send 0 8"); !strings.Contains(l, "nreachable") {
		t.Errorf("%q; want an unreachable network", l)
	}
	within(t, "send failed", began, 0)
}
