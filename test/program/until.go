package program

import (
	"net"
	"strconv"
	"testing"
	"time"

	"gofabric/internal/tcpport"
)

// Until waits for what comes about while the program runs, and not after it has ended.
func (p *Program) Until(what string, is func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if !p.Running() {
			p.Blame("ended with %v before %s", p.err, what)
		}
		if time.Now().After(end) {
			p.Blame("runs, but not within %v: %s", patience, what)
		}
	}
}

// FreeAddress is an address on loopback where nobody listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddresses(t, 1)[0]
}

// FreeAddresses are n addresses on loopback, of as many ports, where nobody listens.
func FreeAddresses(t testing.TB, n int) []string {
	t.Helper()
	a := make([]string, n)
	for i, port := range freePorts(t, n) {
		a[i] = net.JoinHostPort("127.0.0.1", port)
	}
	return a
}

// FreePort is a port at which nobody listens, at any address.
func FreePort(t testing.TB) string {
	t.Helper()
	return freePorts(t, 1)[0]
}

func freePorts(t testing.TB, n int) []string {
	t.Helper()
	ports, err := tcpport.Free("", n)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, n)
	for i, port := range ports {
		names[i] = strconv.Itoa(port)
	}
	return names
}

// AwaitListener waits until somebody listens at a TCP port. It returns at once where that cannot be seen, and does not wait for longer than the program runs.
func (p *Program) AwaitListener(port string) {
	p.t.Helper()
	n, err := strconv.Atoi(port)
	if err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(patience); p.Running(); time.Sleep(5 * time.Millisecond) {
		if ready, visible := tcpport.Listening(n); ready || !visible {
			return
		}
		if time.Now().After(end) {
			p.Blame("runs, but nobody listens at port %s within %v", port, patience)
		}
	}
}
