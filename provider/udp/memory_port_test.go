//go:build linux && !fabricbasic

package udp

// Processes that claim ports which are not theirs.

import (
	"net/netip"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/trust"
	"gofabric/test/journal"
	"gofabric/test/need"
)

// foreignPort is a port of another user (setfsuid(2): a socket belongs to the file-system user of the thread that
// makes it).
func foreignPort(t *testing.T) netip.AddrPort {
	t.Helper()
	need.Root(t, "acting as another user")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	must(t, unix.Setfsuid(4711))
	fd, err := netx.DatagramSocket(unix.AF_INET)
	must(t, unix.Setfsuid(0))
	must(t, err)
	t.Cleanup(func() { netx.Close(fd) })
	must(t, netx.Bind(fd, netip.AddrPortFrom(loopback4, 0)))
	at, err := netx.LocalAddr(fd)
	must(t, err)
	if uid, ok := netx.PortUser(at); !ok || uid != 4711 {
		t.Fatalf("the port is %d's, %v", uid, ok)
	}
	return at
}

// TestMemoryNameTaken: another user has taken the name of a port's local socket. The port then does not listen, and
// reports the reason.
func TestMemoryNameTaken(t *testing.T) {
	need.Root(t, "acting as another user")
	a := newStation(t, netip.AddrPortFrom(loopback4, 0))
	as := func(uid int) { // of this thread, not of the process as with setresuid(3)
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	runtime.LockOSThread()
	as(4711)
	fd, err := netx.LocalListen(shmSocketName(a.p.local), 4)
	as(0)
	runtime.UnlockOSThread()
	must(t, err)
	defer netx.Close(fd)
	j := journal.Listen(t)
	a.locked(func() {
		if a.p.sameHost.listen(); a.p.sameHost.listening() {
			t.Error("the port listens though another user has the name")
		}
	})
	j.Want("it belongs to another user", "uid=4711 ", "at="+shmSocketName(a.p.local))
}

// TestMemoryForeignPort: no memory is shared with a process of this user that claims another user's port, or a
// port without a socket.
func TestMemoryForeignPort(t *testing.T) {
	foreign := foreignPort(t)
	a := newStation(t, netip.AddrPortFrom(loopback4, 0))
	a.locked(a.p.sameHost.listen)
	for name, from := range map[string]netip.AddrPort{"another user's": foreign, "unbound": netip.MustParseAddrPort("127.0.0.1:1")} {
		j, before := journal.Listen(t), journal.Refused("datagrams")
		c, err := samehost.Dial(trust.Datagrams, shmSocketName(a.p.local))
		must(t, err)
		must(t, c.Greet(appendShmHello(nil, from, a.p.local), true))
		all(t, name+" is refused", c.Dead, a)
		c.Close()
		if n := journal.Refused("datagrams") - before; (n == 1) != (from == foreign) {
			t.Errorf("%s: %d refused", name, n)
		}
		if from == foreign {
			j.Want("which the process claims, belongs to user 4711", "at="+shmSocketName(a.p.local))
		}
	}
	if a.shmPeers() != 0 {
		t.Errorf("%d peers", a.shmPeers())
	}
}

// TestMemoryForeignListener: no memory is sent to a process of this user that listens under the name of another user's
// port.
func TestMemoryForeignListener(t *testing.T) {
	foreign := foreignPort(t)
	listener, err := netx.LocalListen(shmSocketName(foreign), 4)
	must(t, err)
	defer netx.Close(listener)
	a := newStation(t, netip.AddrPortFrom(loopback4, 0))
	j := journal.Listen(t)
	came := netx.NoFD
	for range 8 * meetAfter {
		a.awake()
		must(t, a.p.send(foreign, 0, []byte("hello")))
		if fd, err := netx.LocalAccept(listener); err == nil {
			came = fd
			break
		}
	}
	if came == netx.NoFD {
		t.Fatal("the port made no connection")
	}
	defer netx.Close(came)
	if n, errno := netx.Recv(came, make([]byte, 1)); n != 0 || errno != 0 {
		t.Errorf("%d bytes, %v: the port sent a hello", n, errno)
	}
	if a.shmPeers() != 0 {
		t.Errorf("%d peers", a.shmPeers())
	}
	j.Want("which the process claims, belongs to user 4711", "at="+shmSocketName(foreign))
}
