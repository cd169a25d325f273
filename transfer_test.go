package gofabric

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"gofabric/core"
)

func TestMessages(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{})
	ctx := testContext(t)
	for _, n := range []int{0, 1, 64, 4096, 1 << 20} {
		want := bytes.Repeat([]byte{byte(n), 1, 2}, n/3+1)[:n]
		sent := make(chan error, 1)
		go func() { sent <- a.SendData(ctx, toB, want, uint64(n)) }()
		buf := make([]byte, n+10)
		r, err := b.Recv(ctx, AnyPeer, buf)
		if err != nil || r.Len != n || !bytes.Equal(buf[:r.Len], want) {
			t.Fatalf("%d bytes: got %+v, %v", n, r, err)
		}
		if !r.HasData || r.Data != uint64(n) || r.From != toA {
			t.Fatalf("%d bytes: got %+v, want data %d from %d", n, r, n, toA)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
}

func TestTruncation(t *testing.T) {
	a, b, toB, _ := openPair(t, Config{})
	ctx := testContext(t)
	sent := make(chan error, 1)
	go func() { sent <- a.Send(ctx, toB, make([]byte, 100)) }()
	_, err := b.Recv(ctx, AnyPeer, make([]byte, 10))
	var oe *core.OpError
	if !errors.Is(err, core.ErrTrunc) || !errors.As(err, &oe) || oe.Op != "fi_recv" || oe.Hint == "" ||
		oe.Provider != "tcp" {
		t.Fatalf("got %v", err)
	}
	<-sent
}

func TestTagsAndMasks(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{})
	ctx := testContext(t)
	go func() {
		a.TSend(ctx, toB, []byte("one"), 0x101)
		a.TSendData(ctx, toB, []byte("two"), 0x202, 7)
	}()
	buf := make([]byte, 8)
	r, err := b.TRecv(ctx, toA, buf, 0x200, 0xff)
	if err != nil || r.Tag != 0x202 || string(buf[:r.Len]) != "two" || r.Data != 7 || !r.HasData {
		t.Fatalf("got %+v %v", r, err)
	}
	r, err = b.TRecv(ctx, AnyPeer, buf, 0x101, 0)
	if err != nil || r.Tag != 0x101 || string(buf[:r.Len]) != "one" || r.HasData {
		t.Fatalf("got %+v %v", r, err)
	}
}

func TestDirectedReceive(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{})
	ctx := testContext(t)
	c, err := Open(ctx, Config{Provider: "tcp", Node: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fromC, err := b.InsertAddr(c.Name())
	if err != nil {
		t.Fatal(err)
	}
	cToB, err := c.InsertAddr(b.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Send(ctx, toB, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(ctx, cToB, []byte("c")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1)
	for _, want := range []struct {
		from Peer
		text string
	}{{fromC, "c"}, {toA, "a"}} {
		if r, err := b.Recv(ctx, want.from, buf); err != nil || string(buf) != want.text || r.From != want.from {
			t.Fatalf("from %d: got %+v %q %v", want.from, r, buf, err)
		}
	}
}

func TestRMA(t *testing.T) {
	for _, mode := range []core.MRMode{core.MRModeScalable,
		core.MRModeVirtAddr | core.MRModeProvKey | core.MRModeAllocated} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			a, b, toB, _ := openPair(t, Config{MRMode: mode})
			ctx := testContext(t)
			mem := make([]byte, 4096)
			m, err := b.Register(mem, core.AccessRemoteRead|core.AccessRemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			var remote RemoteMemory
			text, _ := m.Remote().MarshalBinary()
			if err := remote.UnmarshalBinary(text); err != nil || remote != m.Remote() {
				t.Fatalf("got %+v, %v; want %+v", remote, err, m.Remote())
			}
			if err := a.Write(ctx, toB, []byte("written"), remote, 100); err != nil {
				t.Fatal(err)
			}
			back := make([]byte, 7)
			if err := a.Read(ctx, toB, back, remote, 100); err != nil || string(back) != "written" {
				t.Fatalf("read back %q, %v", back, err)
			}
			if err := a.Write(ctx, toB, back, remote, 4090); !errors.Is(err, core.ErrInval) {
				t.Fatalf("a write beyond the end: %v", err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal("second close:", err)
			}
			if err := a.Read(ctx, toB, back, remote, 0); err == nil {
				t.Fatal("a read of closed memory succeeded")
			}
		})
	}
}

// TestManyGoroutines makes calls from many goroutines at each endpoint. Every message must return to its sender.
func TestManyGoroutines(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{})
	ctx := testContext(t)
	const callers, rounds = 16, 100
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() { // the echo
			buf := make([]byte, 16)
			for range rounds {
				r, err := b.TRecv(ctx, toA, buf, uint64(g), 0)
				if err == nil {
					err = b.TSend(ctx, toA, buf[:r.Len], uint64(g))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		wg.Go(func() {
			out, in := make([]byte, 16), make([]byte, 16)
			for i := range rounds {
				binary.LittleEndian.PutUint64(out, uint64(g))
				binary.LittleEndian.PutUint64(out[8:], uint64(i))
				if err := a.TSend(ctx, toB, out, uint64(g)); err != nil {
					t.Error(err)
					return
				}
				if _, err := a.TRecv(ctx, toB, in, uint64(g), 0); err != nil || !bytes.Equal(in, out) {
					t.Errorf("caller %d, round %d: got %x, %v", g, i, in, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestMessagesIterator(t *testing.T) {
	a, b, toB, _ := openPair(t, Config{})
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	go func() {
		for i := range 3 {
			a.Send(ctx, toB, []byte{byte(i)})
		}
	}()
	n, last := 0, error(nil)
	buf := make([]byte, 1)
	for r, err := range b.Messages(ctx, AnyPeer, buf) {
		if last = err; err != nil {
			break
		}
		if r.Len != 1 || int(buf[0]) != n {
			t.Fatalf("message %d: got %+v %x", n, r, buf)
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if n != 3 || !errors.Is(last, context.Canceled) {
		t.Fatalf("%d messages, then %v", n, last)
	}
}

func TestInsertErrors(t *testing.T) {
	a, _, _, _ := openPair(t, Config{})
	for _, addr := range []string{"", "127.0.0.1", "fi_sockaddr_in://1.2.3.4:99999",
		"127.0.0.1:no-such-service", "[::1"} {
		if _, err := a.Insert(addr); err == nil {
			t.Errorf("Insert(%q) succeeded", addr)
		} else if oe := (*core.OpError)(nil); !errors.As(err, &oe) {
			t.Errorf("Insert(%q): %v is not an OpError", addr, err)
		}
	}
	if p, err := a.Insert("localhost:7471"); err != nil {
		t.Error(err)
	} else if addr, err := a.Lookup(p); err != nil || addr.IP.Port() != 7471 {
		t.Errorf("Lookup: %v, %v", addr, err)
	} else if err := a.Remove(p); err != nil {
		t.Error(err)
	}
}

func TestOpenErrors(t *testing.T) {
	ctx := testContext(t)
	dead, cancel := context.WithCancel(ctx)
	cancel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, c := range []struct {
		name string
		ctx  context.Context
		cfg  Config
		want error
	}{
		{"unknown provider", ctx, Config{Provider: "tpc"}, core.ErrNoData},
		{"impossible capability", ctx, Config{Provider: "tcp", Caps: core.CapMulticast}, core.ErrNoData},
		{"MSG", ctx, Config{Type: core.EPTypeMsg}, core.ErrInval},
		{"ended context", dead, Config{}, context.Canceled},
		{"port in use", ctx, Config{Provider: "tcp", Node: "127.0.0.1", Service: port}, core.ErrAddrInUse},
	} {
		e, err := Open(c.ctx, c.cfg)
		if err == nil {
			e.Close()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		} else if oe := (*core.OpError)(nil); !errors.As(err, &oe) {
			t.Errorf("%s: %v is not an OpError", c.name, err)
		}
	}
}
