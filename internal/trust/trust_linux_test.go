//go:build !fabricbasic

package trust_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/trust"
	"gofabric/test/journal"
	"gofabric/test/need"
)

// as runs f with the rights of another user. Only this thread has them.
func as(t *testing.T, uid int, f func()) {
	t.Helper()
	need.Root(t, "acting as another user")
	become := func(uid int) {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			t.Fatal(errno)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become(uid)
	defer become(0)
	f()
}

// meet connects two sockets. listen and connect run the function that makes each of them, perhaps as another user.
func meet(t *testing.T, listen, connect func(f func())) (listener, connected netx.FD) {
	t.Helper()
	name := fmt.Sprintf("gofabric-test-%d-%s", os.Getpid(), t.Name())
	var l, c netx.FD
	var err error
	listen(func() { l, err = netx.LocalListen(name, 1) })
	if err != nil {
		t.Fatal(err)
	}
	defer netx.Close(l)
	connect(func() { c, err = netx.LocalConnect(name) })
	if err != nil {
		t.Fatal(err)
	}
	a, err := netx.LocalAccept(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { netx.Close(a); netx.Close(c) })
	return a, c
}

func TestSame(t *testing.T) {
	we := func(f func()) { f() }
	other := func(f func()) { as(t, 4711, f) }
	t.Run("one user", func(t *testing.T) {
		a, _ := meet(t, we, we)
		if p, ok := trust.Same(a, trust.Stream, "here"); !ok || p.PID != os.Getpid() || p.UID != os.Geteuid() {
			t.Errorf("%+v, %v", p, ok)
		}
	})
	t.Run("who connects", func(t *testing.T) {
		j := journal.Listen(t)
		a, c := meet(t, we, other)
		if _, ok := trust.Same(a, trust.Stream, "here"); ok {
			t.Error("another user")
		}
		j.Want("uid=4711 ", fmt.Sprintf("pid=%d ", os.Getpid()), "at=here", "own_uid=0")
		if _, ok := trust.Same(c, trust.Stream, "here"); !ok {
			t.Error("the listener, of this user, is not trusted")
		}
	})
	t.Run("who listens", func(t *testing.T) {
		_, c := meet(t, other, we)
		if _, ok := trust.Same(c, trust.Stream, "here"); ok {
			t.Error("another user")
		}
	})
	t.Run("no socket", func(t *testing.T) {
		if _, ok := trust.Same(0, trust.Stream, "here"); ok {
			t.Error("trusted")
		}
	})
}

// TestOverflowUser: a user without a number in this user namespace may be any user, so it is equal to none.
func TestOverflowUser(t *testing.T) {
	if trust.User(4711) || !trust.User(os.Geteuid()) {
		t.Error("another user is trusted, or this user is not")
	}
	as(t, 65534, func() {
		if os.Geteuid() != 65534 || trust.User(65534) {
			t.Error("the overflow user trusts its own number")
		}
	})
}

// TestFlood: each attempt of a process that tries again and again is counted. Only some are logged, with the number
// of those that were not.
func TestFlood(t *testing.T) {
	j, before := journal.Listen(t), journal.Refused("vectors")
	for range 1000 {
		trust.Refuse(trust.Vectors, netx.Peer{PID: 1, UID: 2}, "there", "it floods")
	}
	j.Want("it floods", "uid=2 pid=1 at=there")
	if n := journal.Refused("vectors") - before; n != 1000 {
		t.Errorf("%d counted", n)
	}
	if n := strings.Count(j.String(), "it floods"); n != 1 {
		t.Errorf("%d lines", n)
	}
}
