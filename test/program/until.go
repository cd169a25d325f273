package program

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
	"time"
)

// Until waits for something that comes about by itself.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

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

// Patient is a context for calls to programs: it ends when they should have answered long ago.
func Patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
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

// portLow and portHigh lie below the range from which systems take ports for outgoing connections, so that none of these, of other packages' tests for instance, takes a port
// between its choice and the server's start.
const portLow, portHigh = 20000, 30000

func freePorts(t testing.TB, n int) (ports []string) {
	t.Helper()
	for try := 0; len(ports) < n; try++ {
		port := strconv.Itoa(portLow + rand.IntN(portHigh-portLow))
		l, err := net.Listen("tcp", ":"+port)
		if err == nil {
			defer l.Close() // after all have been chosen
			ports = append(ports, port)
		} else if try == 20+n {
			t.Fatal(err)
		}
	}
	return ports
}
