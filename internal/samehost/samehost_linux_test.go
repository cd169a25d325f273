//go:build !fabricbasic

package samehost

import (
	"bytes"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/shm"
	"gofabric/internal/trust"
	"gofabric/test/wait"
)

const bodyLen = 4

var sockets atomic.Int64

// listen opens a Listener with a unique name, and collects the connections that it passes on.
func listen(t *testing.T, prog *progress.Engine) (l *Listener, got *[]*Conn) {
	t.Helper()
	got = new([]*Conn)
	cfg := Config{Use: trust.Stream, Name: Name("test",
		strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(sockets.Add(1),
			10)), BodyLen: bodyLen, Memory: true, MaxPending: 4, Progress: prog}
	cfg.Greeted = func(c *Conn, body []byte) {
		if string(body) == "none" {
			c.Close()
			return
		}
		c.Map()
		*got = append(*got, c)
	}
	l, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if prog != nil {
			prog.Lock()
			defer prog.Unlock()
		}
		l.Close()
		for _, c := range *got {
			c.Close()
		}
	})
	return l, got
}

func dial(t *testing.T, l *Listener) *Conn {
	t.Helper()
	c, err := Dial(trust.Stream, l.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// gone waits until the other end of c is closed.
func gone(t *testing.T, what string, c *Conn) {
	t.Helper()
	wait.Until(t, what+": the connection is closed", c.Dead)
}

// TestShare makes two processes' ends share memory, ring the doorbell, and notice the end of the other.
func TestShare(t *testing.T) {
	for _, share := range []bool{true, false} {
		l, got := listen(t, nil)
		c := dial(t, l)
		if err := c.Greet([]byte("abcd"), share); err != nil {
			t.Fatal(err)
		}
		if starved := l.Accept(); starved || len(*got) != 1 || l.Pending() != 0 {
			t.Fatalf("starved %v, %d have come, %d pend", starved, len(*got), l.Pending())
		}
		o := (*got)[0]
		if (o.Rings != nil) != share || (c.Rings != nil) != share {
			t.Fatalf("shared %v: %v and %v", share, c.Rings, o.Rings)
		}
		if share {
			b := make([]byte, 8)
			c.Write([]byte("12345678"))
			if n, err := o.Read(b); n != 8 || err != nil || string(b) != "12345678" {
				t.Fatalf("%q, %v", b[:n], err)
			}
		}
		c.Ring()
		if o.TakeDoorbells() || o.Ended() || o.Dead() {
			t.Error("it has ended")
		}
		c.Close()
		if !o.TakeDoorbells() || !o.Ended() || !o.Dead() {
			t.Error("it has not ended")
		}
	}
}

// TestRefused sends invalid hellos, and one that the owner refuses.
func TestRefused(t *testing.T) {
	end, memory, err := shm.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	defer unix.Close(memory)
	good, plain := appendHello(nil, []byte("abcd"), true), appendHello(nil, []byte("abcd"), false)
	change := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 0x40
		return b
	}
	for name, s := range map[string]struct {
		hello []byte
		fd    netx.FD
	}{
		"magic":                {change(0), netx.FD(memory)},
		"version":              {change(8), netx.FD(memory)},
		"size":                 {change(13), netx.FD(memory)},
		"short":                {good[:len(good)-1], netx.FD(memory)},
		"long":                 {append(bytes.Clone(good), 0), netx.FD(memory)},
		"one byte":             {good[:1], netx.NoFD},
		"memory does not come": {good, netx.NoFD},
		"memory not announced": {plain, netx.FD(memory)},
		"its owner refuses it": {appendHello(nil, []byte("none"), true), netx.FD(memory)},
	} {
		l, got := listen(t, nil)
		c := dial(t, l)
		if _, err := netx.SendWith(c.FD(), s.hello, s.fd); err != nil {
			t.Fatal(err)
		}
		if l.Accept(); len(*got) != 0 || l.Pending() != 0 {
			t.Errorf("%s: %d have come, %d pend", name, len(*got), l.Pending())
		}
		gone(t, name, c)
	}
	l, got := listen(t, nil)
	c := dial(t, l)
	if _, err := netx.SendWith(c.FD(), good, 0); err != nil { // a descriptor that is not a memory
		t.Fatal(err)
	}
	if l.Accept(); len(*got) != 1 || (*got)[0].Rings != nil {
		t.Error("it was mapped")
	}
}

// TestPending: connections without a hello are closed when there are too many, or after a time. Late hellos are
// accepted until then.
func TestPending(t *testing.T) {
	l, got := listen(t, nil)
	var list []*Conn
	for range l.MaxPending + 2 {
		list = append(list, dial(t, l))
		l.Accept()
	}
	if l.Pending() != l.MaxPending {
		t.Errorf("%d pend, %d may", l.Pending(), l.MaxPending)
	}
	for i, c := range list {
		if c.Dead() != (i < 2) {
			t.Errorf("connection %d was closed: %v", i, c.Dead())
		}
	}
	list[3].Greet([]byte("late"), false)
	if l.Accept(); len(*got) != 1 || l.Pending() != l.MaxPending-1 {
		t.Errorf("%d have come, %d pend", len(*got), l.Pending())
	}
	for _, p := range l.pending {
		p.until = mono.Now()
	}
	if l.Accept(); l.Pending() != 0 {
		t.Errorf("%d pend after their time", l.Pending())
	}
	gone(t, "it was silent", list[2])
}

// TestWatched: with an engine, hellos are read when they come, and silent connections end.
func TestWatched(t *testing.T) {
	prog, err := progress.New(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	var l *Listener
	var got *[]*Conn
	prog.Lock()
	l, got = listen(t, prog)
	prog.Unlock()
	eventually := func(what string, ok func() bool) {
		t.Helper()
		wait.Until(t, what, func() bool {
			prog.Lock()
			defer prog.Unlock()
			return ok()
		})
	}
	silent, late := dial(t, l), dial(t, l)
	eventually("both are accepted", func() bool { return l.Pending() == 2 })
	late.Greet([]byte("late"), true)
	eventually("the hello is accepted", func() bool { return len(*got) == 1 && (*got)[0].Rings != nil })
	gone(t, "it sends nothing", silent)
}

// TestReserve: an expected connection is accepted, with its memory, when the process has no descriptor left.
func TestReserve(t *testing.T) {
	l, got := listen(t, nil)
	if !l.Expect(1) || len(l.reserve) != 2 {
		t.Fatalf("%d descriptors are reserved", len(l.reserve))
	}
	c := dial(t, l)
	c.Greet([]byte("abcd"), true)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	free, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(free)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free), Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	starved := l.Accept()
	able := l.Expect(2)
	unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
	if starved || len(*got) != 1 || (*got)[0].Rings == nil {
		t.Errorf("starved %v, %d have come", starved, len(*got))
	}
	if able {
		t.Error("there were descriptors for more")
	}
	if l.Expect(0); len(l.reserve) != 0 {
		t.Errorf("%d descriptors are left over", len(l.reserve))
	}
}

// TestNames: a name can be used once, and is free again when its Listener is closed.
func TestNames(t *testing.T) {
	l, _ := listen(t, nil)
	if _, err := Listen(l.Config); err != syscall.EADDRINUSE {
		t.Errorf("a second one: %v", err)
	}
	l.Close()
	if _, err := Dial(trust.Stream, l.Name); err != syscall.ECONNREFUSED {
		t.Errorf("nothing listens: %v", err)
	}
	again, err := Listen(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
