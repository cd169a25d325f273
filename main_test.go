package gofabric

import (
	"cmp"
	"context"
	"fmt"
	"gofabric/test/wait"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// This file has what the tests of this package share.

// TestMain checks that no goroutine and no descriptor is left open.
func TestMain(m *testing.M) {
	before := descriptors()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if after := descriptors(); code == 0 && after > before+2 { // 2: the runtime's poller
			fmt.Fprintf(os.Stderr, "%d descriptors were left open\n", after-before)
			code = 1
		}
		os.Exit(code)
	}))
}

// limit is the longest time that a test waits.
const limit = wait.Limit

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// openPair opens two endpoints on the loopback interface. Each has the address of the other.
func openPair(t testing.TB, cfg Config) (a, b *Endpoint, toB, toA Peer) {
	t.Helper()
	ctx := testContext(t)
	cfg.Provider, cfg.Node, cfg.CancelGrace = cmp.Or(cfg.Provider, "tcp"), "127.0.0.1", 100*time.Millisecond
	ends := [2]*Endpoint{}
	for i := range ends {
		e, err := Open(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error("close:", err)
			}
		})
		ends[i] = e
	}
	toB, err := ends[0].InsertAddr(ends[1].Name())
	if err != nil {
		t.Fatal(err)
	}
	toA, err = ends[1].Insert(ends[0].Name().String())
	if err != nil {
		t.Fatal(err)
	}
	return ends[0], ends[1], toB, toA
}

// dialPair makes a connection on the loopback interface.
func dialPair(t testing.TB, cfg Config) (client, server *Endpoint) {
	t.Helper()
	ctx := testContext(t)
	cfg.Provider, cfg.CancelGrace = "tcp", 100*time.Millisecond
	l, err := Listen(ctx, "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type result struct {
		e   *Endpoint
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		e, err := l.Accept(ctx)
		accepted <- result{e, err}
	}()
	client, err = Dial(ctx, l.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	r := <-accepted
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { r.e.Close() })
	return client, r.e
}
