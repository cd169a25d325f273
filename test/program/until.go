package program

import (
	"context"
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// FreePort is a port at which nobody listens, at any address.
func FreePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
