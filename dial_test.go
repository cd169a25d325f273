package gofabric

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/core"
)

func TestDialAcceptPrivateData(t *testing.T) {
	ctx := testContext(t)
	l, err := Listen(ctx, "127.0.0.1:0", Config{Provider: "tcp"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		r, err := l.Next(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		if string(r.PrivateData()) != "who" {
			t.Errorf("request with %q", r.PrivateData())
		}
		e, err := r.Accept(ctx, []byte("me"))
		if err != nil {
			t.Error(err)
			return
		}
		defer e.Close()
		if string(e.PrivateData()) != "who" || e.PeerName().IsZero() {
			t.Errorf("accepted endpoint has %q from %v", e.PrivateData(), e.PeerName())
		}
		if _, err := r.Accept(ctx, nil); !errors.Is(err, core.ErrAlready) {
			t.Errorf("second answer: %v", err)
		}
		buf := make([]byte, 10)
		if m, err := e.Recv(ctx, Connected, buf); err != nil || string(buf[:m.Len]) != "hi" {
			t.Errorf("got %+v %v", m, err)
		}
		if err := e.Send(ctx, Connected, []byte("ho")); err != nil {
			t.Error(err)
		}
	})
	host := strings.TrimPrefix(l.Addr().String(), "fi_sockaddr_in://")
	e, err := Dial(ctx, host, Config{Provider: "tcp", PrivateData: []byte("who")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if string(e.PrivateData()) != "me" || e.PeerName() != l.Addr() {
		t.Errorf("dialled endpoint has %q from %v", e.PrivateData(), e.PeerName())
	}
	if err := e.Send(ctx, Connected, []byte("hi")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	if m, err := e.Recv(ctx, Connected, buf); err != nil || string(buf[:m.Len]) != "ho" {
		t.Fatalf("got %+v %v", m, err)
	}
	wg.Wait()
}

func TestReject(t *testing.T) {
	ctx := testContext(t)
	l, err := Listen(ctx, "127.0.0.1:0", Config{Provider: "tcp"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for r, err := range l.Requests(ctx) {
			if err != nil {
				t.Error(err)
			} else if err := r.Reject([]byte("no")); err != nil {
				t.Error(err)
			}
			return
		}
	}()
	_, err = Dial(ctx, l.Addr().String(), Config{Provider: "tcp"})
	<-done
	var no *RejectedError
	if !errors.Is(err, core.ErrConnRefused) || !errors.As(err, &no) || string(no.PrivateData) != "no" {
		t.Fatalf("got %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	ctx := testContext(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	defer silent.Close()
	for _, c := range []struct {
		name, addr string
		want       error
	}{
		{"no listener", gone.Addr().String(), core.ErrConnRefused},
		{"silence", silent.Addr().String(), context.DeadlineExceeded},
		{"no port", "127.0.0.1", core.ErrInval},
		{"bad scheme", "fi_sockaddr_in://1.2.3:1", core.ErrNoData},
	} {
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		start := time.Now()
		e, err := Dial(short, c.addr, Config{Provider: "tcp"})
		cancel()
		if err == nil {
			e.Close()
		}
		var oe *core.OpError
		if !errors.Is(err, c.want) && !errors.Is(err, core.ErrInval) || !errors.As(err, &oe) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if took := time.Since(start); took > limit/2 {
			t.Errorf("%s took %v", c.name, took)
		}
	}
}

// TestPeerCloses: the other side of a connection closes, while calls wait and before further calls.
func TestPeerCloses(t *testing.T) {
	for name, caps := range map[string]core.Caps{"plain": core.CapMsg, "tagged": core.CapMsg | core.CapTagged} {
		t.Run(name, func(t *testing.T) {
			client, server := dialPair(t, Config{Caps: caps})
			ctx := testContext(t)
			got := make(chan error, 1)
			go func() {
				_, err := server.Recv(ctx, Connected, make([]byte, 10))
				got <- err
			}()
			time.AfterFunc(10*time.Millisecond, func() { client.Close() })
			if err := <-got; err != io.EOF {
				t.Errorf("a receive under way: %v, want EOF", err)
			}
			if _, err := server.Recv(ctx, Connected, make([]byte, 10)); err != io.EOF {
				t.Errorf("a receive afterwards: %v, want EOF", err)
			}
			if err := server.Send(ctx, Connected, make([]byte, 10)); !errors.Is(err, core.ErrShutdown) {
				t.Errorf("a send afterwards: %v, want ErrShutdown", err)
			}
		})
	}
}

func TestTaggedOverConnection(t *testing.T) {
	client, server := dialPair(t, Config{Caps: core.CapMsg | core.CapTagged})
	ctx := testContext(t)
	go client.TSend(ctx, Connected, []byte("seven"), 7)
	buf := make([]byte, 10)
	if r, err := server.TRecv(ctx, Connected, buf, 0, ^uint64(0)); err != nil || r.Tag != 7 ||
		!bytes.Equal(buf[:r.Len], []byte("seven")) {
		t.Fatalf("got %+v %v", r, err)
	}
}

func TestListenerClose(t *testing.T) {
	ctx := testContext(t)
	l, err := Listen(ctx, "127.0.0.1:0", Config{Provider: "tcp"})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := l.Accept(ctx)
		got <- err
	}()
	time.AfterFunc(10*time.Millisecond, func() { l.Close() })
	if err := <-got; !errors.Is(err, core.ErrShutdown) {
		t.Errorf("Accept under way: %v", err)
	}
	if _, err := l.Accept(ctx); !errors.Is(err, core.ErrShutdown) {
		t.Errorf("Accept afterwards: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	m, err := Listen(ctx, "127.0.0.1:0", Config{Provider: "tcp"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Accept(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Accept with a deadline: %v", err)
	}
	if _, err := Listen(ctx, m.Addr().String(), Config{Provider: "tcp"}); !errors.Is(err, core.ErrAddrInUse) {
		t.Errorf("the same port again: %v", err)
	}
}

// TestManyConnections shares one completion queue among many connections.
func TestManyConnections(t *testing.T) {
	ctx := testContext(t)
	l, err := Listen(ctx, "127.0.0.1:0", Config{Provider: "tcp"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const n = 20
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				e, err := l.Accept(ctx)
				if err != nil {
					return
				}
				wg.Go(func() {
					defer e.Close()
					buf := make([]byte, 8)
					for {
						r, err := e.Recv(ctx, Connected, buf)
						if err != nil {
							if err != io.EOF {
								t.Error(err)
							}
							return
						}
						if err := e.Send(ctx, Connected, buf[:r.Len]); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		})
	}
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() {
			e, err := Dial(ctx, l.Addr().String(), Config{Provider: "tcp"})
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close()
			buf := make([]byte, 8)
			for j := range 20 {
				want := []byte{byte(i), byte(j)}
				if err := e.Send(ctx, Connected, want); err != nil {
					t.Error(err)
					return
				}
				if r, err := e.Recv(ctx, Connected, buf); err != nil || !bytes.Equal(buf[:r.Len], want) {
					t.Errorf("got %x %v", buf[:r.Len], err)
					return
				}
			}
		})
	}
	clients.Wait()
	l.Close()
	wg.Wait()
}
