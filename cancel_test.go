package gofabric

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gofabric/core"
)

// This file ends contexts in each state of an operation, over tcp. hub_test.go has the tests that need exact timing.

func TestCancelReceives(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{})
	ctx := testContext(t)
	for name, call := range map[string]func(context.Context, []byte) (Received, error){
		"fi_recv":  func(ctx context.Context, b1 []byte) (Received, error) { return b.Recv(ctx, AnyPeer, b1) },
		"fi_trecv": func(ctx context.Context, b1 []byte) (Received, error) { return b.TRecv(ctx, toA, b1, 1, 2) },
	} {
		buf := []byte("untouched")
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		_, err := call(short, buf)
		cancel()
		var oe *core.OpError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, core.ErrTimedOut) || !errors.As(err, &oe) ||
			oe.Op != name {
			t.Fatalf("%s: got %v", name, err)
		}
		// The receive must no longer be posted: the message goes to the next one.
		if err := a.Send(ctx, toB, []byte("x")); err != nil {
			t.Fatal(err)
		}
		one := make([]byte, 1)
		if r, err := b.Recv(ctx, AnyPeer, one); err != nil || r.Len != 1 || string(one) != "x" {
			t.Fatalf("%s: the next receive got %+v, %q, %v", name, r, one, err)
		}
		if string(buf) != "untouched" {
			t.Fatalf("%s: the buffer was used after the return: %q", name, buf)
		}
	}
}

func TestEndedContext(t *testing.T) {
	a, _, toB, _ := openPair(t, Config{})
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	for _, err := range []error{a.Send(ctx, toB, nil), a.TSend(ctx, toB, nil, 1),
		a.Write(ctx, toB, nil, RemoteMemory{}, 0)} {
		if !errors.Is(err, why) || !errors.Is(err, core.ErrCanceled) {
			t.Errorf("got %v", err)
		}
	}
}

// TestCancelLeader ends the call of the goroutine that reads the queue. Another goroutine must take over.
func TestCancelLeader(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{})
	ctx := testContext(t)
	for range 20 {
		var wg sync.WaitGroup
		short, cancel := context.WithCancel(ctx)
		for i := range 4 {
			wg.Go(func() {
				if _, err := b.TRecv(short, toA, make([]byte, 1), uint64(100+i), 0); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		for i := range 4 {
			wg.Go(func() {
				if _, err := b.TRecv(ctx, toA, make([]byte, 1), uint64(i), 0); err != nil {
					t.Error(err)
				}
			})
		}
		cancel()
		for i := range 4 {
			if err := a.TSend(ctx, toB, []byte{1}, uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
	}
}

// TestCancelSendUnderWay ends a send that is so large that it waits for the receiver, which posts no receive.
func TestCancelSendUnderWay(t *testing.T) {
	big := bytes.Repeat([]byte{7}, 32<<20)
	proc, err := newProcess(func(name string) (string, bool) { return "1000000", name == "FI_TCP_UNEXP_BYTES" }, "")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{system: &system{
		getInfo: func(q core.Query) ([]*core.Info, []core.Refusal, error) {
			return core.GetInfo(proc.registry, proc.host, proc.params, q)
		},
		openFabric: func(i *core.Info) (*core.Fabric, error) { return core.OpenFabric(proc.registry, i) },
	}}
	client, server := dialPair(t, cfg)
	ctx := testContext(t)
	for name, e := range map[string]*Endpoint{"MSG": client, "RDM": nil} {
		to := Connected
		if e == nil {
			e, _, to, _ = openPair(t, cfg)
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		start := time.Now()
		err := e.Send(short, to, big)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", name, err)
		}
		if took := time.Since(start); took > limit/2 {
			t.Errorf("%s: the call took %v", name, took)
		}
	}
	// The other side of the connection gets an error.
	if _, err := server.Recv(ctx, Connected, make([]byte, 32<<20)); err == nil {
		t.Error("the message was received in full although its sender gave up")
	}
}

func TestSendToClosedPort(t *testing.T) {
	a, b, _, _ := openPair(t, Config{})
	ctx := testContext(t)
	gone := b.Name()
	b.Close()
	p, err := a.InsertAddr(gone)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err = a.Send(short, p, []byte("x"))
	var oe *core.OpError
	if err == nil || !errors.As(err, &oe) || oe.Peer != gone.String() {
		t.Fatalf("got %v", err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	_, b, _, toA := openPair(t, Config{})
	const n = 8
	errs := make(chan error, n)
	var ready sync.WaitGroup
	for i := range n {
		ready.Add(1)
		go func() {
			ready.Done()
			_, err := b.TRecv(context.Background(), toA, make([]byte, 1), uint64(i), 0)
			errs <- err
		}()
	}
	ready.Wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-errs; !errors.Is(err, core.ErrCanceled) && !errors.Is(err, core.ErrShutdown) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := b.Recv(context.Background(), AnyPeer, nil); !errors.Is(err, core.ErrShutdown) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := b.Insert("127.0.0.1:1"); !errors.Is(err, core.ErrShutdown) {
		t.Errorf("after Close: %v", err)
	}
}

// TestNothingIsLost receives with contexts that end at any moment. Every message must be received once and in order,
// and no buffer may change after its call has returned.
func TestNothingIsLost(t *testing.T) {
	a, b, toB, _ := openPair(t, Config{})
	ctx := testContext(t)
	const messages, size = 300, 3000
	var sender sync.WaitGroup
	defer sender.Wait() // its last call may return after the message was received here
	sender.Go(func() {
		buf := make([]byte, size)
		for i := range messages {
			binary.LittleEndian.PutUint32(buf, uint32(i))
			if err := a.Send(ctx, toB, buf); err != nil {
				t.Error(err)
				return
			}
			if i%8 == 0 {
				// Receives are abandoned with and without waiting messages. The result must be the same.
				time.Sleep(100 * time.Microsecond)
			}
		}
	})
	r := rand.New(rand.NewPCG(1, 2))
	gone := bytes.Repeat([]byte{0xee}, size)
	var abandoned [][]byte
	for next := 0; next < messages; {
		buf := bytes.Repeat([]byte{0xee}, size)
		short, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(60))*time.Microsecond)
		got, err := b.Recv(short, AnyPeer, buf)
		cancel()
		switch {
		case err == nil:
			if n := binary.LittleEndian.Uint32(buf); got.Len != size || int(n) != next {
				t.Fatalf("got message %d of %d bytes, want %d", n, got.Len, next)
			}
			next++
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			t.Fatalf("message %d: %v", next, err)
		default:
			abandoned = append(abandoned, buf)
		}
	}
	for _, buf := range abandoned {
		if !bytes.Equal(buf, gone) {
			t.Fatal("a buffer changed although its receive was cancelled")
		}
	}
	if len(abandoned) == 0 {
		t.Error("no receive was cancelled: this test has checked nothing")
	}
}

// TestCloseAtAnyMoment closes both ends while many goroutines use them.
func TestCloseAtAnyMoment(t *testing.T) {
	for round := range 10 {
		a, b, toB, toA := openPair(t, Config{})
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				e, to := a, toB
				if g%2 == 0 {
					e, to = b, toA
				}
				buf := make([]byte, 100)
				for {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(50+10*g)*time.Microsecond)
					var err error
					if g < 3 {
						err = e.Send(ctx, to, buf)
					} else {
						_, err = e.Recv(ctx, AnyPeer, buf)
					}
					cancel()
					if errors.Is(err, core.ErrShutdown) {
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(round) * 300 * time.Microsecond) // the endpoints close at another moment in each round
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}
