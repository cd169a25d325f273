// This file makes sockets for tests.

package netx

import (
	"net/netip"
	"syscall"
	"testing"
	"time"
)

var loopback4 = netip.MustParseAddr("127.0.0.1")

// patience is the longest time that a test waits for an expected event. It is long enough for a busy machine, as
// only failures take so long.
const patience = 2 * time.Minute

// wait blocks until fd is ready for ev.
func wait(t testing.TB, fd FD, ev Events) {
	t.Helper()
	var e int16
	if ev&In != 0 {
		e |= pollIn
	}
	if ev&Out != 0 {
		e |= pollOut
	}
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		n, err := sysPoll([]pollFD{watch(fd, e)}, 100)
		if err != nil && err != syscall.EINTR {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
	t.Fatalf("descriptor %d never became ready for %v", fd, ev)
}

// readable reports readiness without waiting.
func readable(t testing.TB, fd FD) bool {
	t.Helper()
	n, err := sysPoll([]pollFD{watch(fd, pollIn)}, 0)
	must(t, err)
	return n > 0
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func closeLater(t testing.TB, fd FD) FD {
	t.Cleanup(func() { must(t, Close(fd)) })
	return fd
}

func listener(t testing.TB, addr netip.Addr) (FD, netip.AddrPort) {
	t.Helper()
	l, err := StreamSocket(Family(addr))
	must(t, err)
	closeLater(t, l)
	must(t, SetReuseAddr(l, true))
	must(t, Bind(l, netip.AddrPortFrom(addr, 0)))
	must(t, Listen(l, 16))
	ap, err := LocalAddr(l)
	must(t, err)
	return l, ap
}

// openPair returns both ends of a TCP connection; the caller closes them.
func openPair(t testing.TB) (client, server FD) {
	t.Helper()
	l, ap := listener(t, loopback4)
	client, err := StreamSocket(syscall.AF_INET)
	must(t, err)
	if err := Connect(client, ap); err != nil && err != syscall.EINPROGRESS {
		t.Fatal(err)
	}
	wait(t, l, In)
	server, _, err = Accept(l)
	must(t, err)
	wait(t, client, Out)
	must(t, SocketError(client))
	return client, server
}

// pair is openPair, closed at the end of the test.
func pair(t testing.TB) (client, server FD) {
	t.Helper()
	client, server = openPair(t)
	return closeLater(t, client), closeLater(t, server)
}

func sendAll(t testing.TB, fd FD, b []byte) {
	t.Helper()
	for len(b) > 0 {
		n, err := Send(fd, b, false)
		if err == syscall.EAGAIN {
			wait(t, fd, Out)
			continue
		}
		if err != 0 {
			t.Fatal(err)
		}
		b = b[n:]
	}
}
