package program

import (
	"net"
	"strconv"
	"testing"
	"time"

	"gofabric/internal/tcpport"
)

// Until waits until a condition is true. It fails the test if the program ends before that.
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

// FreeAddress returns an address on loopback at which no process listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddresses(t, 1)[0]
}

// FreeAddresses returns n addresses on loopback with different ports, at which no process listens.
func FreeAddresses(t testing.TB, n int) []string {
	t.Helper()
	a := make([]string, n)
	for i, port := range freePorts(t, n) {
		a[i] = net.JoinHostPort("127.0.0.1", port)
	}
	return a
}

// FreePort returns a port at which no process listens, at any address.
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

// AwaitListener waits until a process listens at a TCP port. It returns at once where listening sockets are not
// visible, and when the program ends.
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
			p.Blame("runs, but no process listens at port %s within %v", port, patience)
		}
	}
}
