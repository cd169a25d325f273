//go:build linux && !fabricbasic

package udp

// Memory shared with other processes: they are killed, restarted, belong to other users, or send invalid hellos.

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/trust"
	"gofabric/test/journal"
	"gofabric/test/need"
	"gofabric/test/program"
	"gofabric/test/wait"
)

// processEnv makes the test's binary the other process, with a port at the address in the variable.
const processEnv = "GOFABRIC_TEST_NEIGHBOUR"

// TestNeighbourProcess is not a test but the other process of the tests below. It sends back what it receives until
// it is killed.
func TestNeighbourProcess(t *testing.T) {
	at := os.Getenv(processEnv)
	if at == "" {
		t.Skip("it runs when other tests start it")
	}
	s := newStation(t, netip.MustParseAddrPort(at))
	s.locked(func() { s.p.sameHost.listen() }) // also if it has sent nothing yet
	s.in.hook = func(from netip.AddrPort, _ []byte) {
		d := s.in.got[0]
		s.in.got = s.in.got[:0]
		s.p.Send(from, [][]byte{[]byte(d.data)}, 0)
	}
	fmt.Println("at", s.p.local)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		s.poll(1000)
	}
}

// process starts another process with the rights of a user, and returns the address of its port.
func process(t *testing.T, at string, uid int) (*program.Program, netip.AddrPort) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	if uid != os.Geteuid() { // which may not read the directory of the binary
		exe = fmt.Sprintf("/proc/self/fd/%d", 3)
	}
	c := exec.Command(exe, "-test.run=^TestNeighbourProcess$", "-test.v")
	c.Env = append(os.Environ(), processEnv+"="+at)
	if uid != os.Geteuid() {
		f, err := os.Open("/proc/self/exe")
		must(t, err)
		defer f.Close()
		c.ExtraFiles = []*os.File{f}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		c.Dir = "/"
	}
	p := program.Start(t, c)
	return p, netip.MustParseAddrPort(strings.TrimPrefix(p.Expect("at "), "at "))
}

// echo makes a datagram return.
func (s *station) echo(to netip.AddrPort) bool {
	s.locked(func() { s.in.got = nil })
	must(s.t, s.p.send(to, 0, []byte("echo")))
	got := 0
	for end := time.Now().Add(time.Second); got == 0 && time.Now().Before(end); s.locked(func() { got = len(s.in.got) }) {
		s.poll(100)
	}
	return got > 0
}

// share makes datagrams return until they do so through memory.
func (s *station) share(to netip.AddrPort) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		before := s.p.counts()
		s.awake()
		s.echo(to)
		if c := s.p.counts(); c.MemorySent > before.MemorySent && c.MemoryReceived > before.MemoryReceived {
			return
		}
	}
	s.t.Fatalf("%v shares no memory", s.p)
}

// TestMemoryKilled kills the other process while it polls. The port notices this. Sends to it then fail no more
// than sends to a port that does not exist, and the next process at the address shares memory again.
func TestMemoryKilled(t *testing.T) {
	for _, asleep := range []bool{false, true} {
		r := &refusals{}
		a := &station{t: t, d: testDomain(t), in: &r.inbox}
		a.p = portAt(t, a.d, netip.AddrPortFrom(loopback4, 0), r)
		c, at := process(t, "127.0.0.1:0", os.Geteuid())
		a.share(at)
		if asleep {
			a.locked(a.d.prog.EnterWait)
		}
		c.Kill()
		if asleep {
			wait.Until(t, "a sleeping port notices the end of the process", func() bool { return a.shmPeers() == 0 })
			a.locked(a.d.prog.LeaveWait)
		}
		all(t, "the port notices the end of the process", func() bool { return a.shmPeers() == 0 }, a)
		a.locked(func() { r.dests = nil })
		for end := time.Now().Add(patience); len(r.dests) == 0; a.poll(10) {
			a.p.send(at, 0, []byte("hello"))
			if time.Now().After(end) {
				t.Fatal("the closed port causes no ICMP error")
			}
		}
		_, again := process(t, at.String(), os.Geteuid())
		a.share(again)
	}
}

// TestMemoryForeign: no memory is shared with another user's process, whichever of the two connects.
func TestMemoryForeign(t *testing.T) {
	need.Root(t, "acting as another user")
	a := newStation(t, netip.AddrPortFrom(loopback4, 0))
	j, before := journal.Listen(t), journal.Refused("datagrams")
	c, at := process(t, "127.0.0.1:0", 4711)
	for i := range 8 * meetAfter {
		if i == 4*meetAfter { // from now on the other process connects
			a.locked(a.p.sameHost.listen)
		}
		a.awake()
		if !a.echo(at) {
			t.Fatal("no answer")
		}
	}
	if n := a.p.counts(); a.shmPeers() != 0 || n.MemorySent+n.MemoryReceived > 0 {
		t.Errorf("%v: %+v", a.p, n)
	}
	if journal.Refused("datagrams") == before {
		t.Error("no connection was refused")
	}
	j.Want("shared memory for datagrams", "it belongs to another user", "uid=4711 ", fmt.Sprintf("pid=%d ", c.Cmd.Process.Pid), "at="+samehost.Name("udp", ""))
}

// TestMemoryHellos: connections with an invalid hello, or without one, are closed, and do not occupy a place for
// long. internal/samehost tests the part of a hello that all services share.
func TestMemoryHellos(t *testing.T) {
	a, b := neighboursAt(t, loopback4)
	a.locked(a.p.sameHost.listen)
	from := netip.AddrPortFrom(loopback4, 4711)
	good := appendShmHello(nil, from, a.p.local)
	other := append([]byte(nil), good...)
	other[len(other)-1] ^= 0x40
	for name, s := range map[string]struct {
		hello  []byte
		memory bool
	}{
		"no memory":      {good, false},
		"a group":        {appendShmHello(nil, netip.MustParseAddrPort("224.0.0.1:4711"), a.p.local), true},
		"any address":    {appendShmHello(nil, netip.MustParseAddrPort("0.0.0.0:4711"), a.p.local), true},
		"another family": {appendShmHello(nil, netip.MustParseAddrPort("[::1]:4711"), a.p.local), true},
		"another port":   {other, true},
		"port 0":         {appendShmHello(nil, netip.AddrPortFrom(loopback4, 0), a.p.local), true},
		"our own port":   {appendShmHello(nil, a.p.local, a.p.local), true},
		"short":          {good[:shmHelloLen-1], true},
		"long":           {append(good[:shmHelloLen:shmHelloLen], 0), true},
	} {
		c, err := samehost.Dial(trust.Datagrams, shmSocketName(a.p.local))
		must(t, err)
		must(t, c.Greet(s.hello, s.memory))
		all(t, name+" is refused", c.Dead, a)
		c.Close()
	}
	fd, err := netx.LocalConnect(shmSocketName(a.p.local))
	must(t, err)
	_, err = netx.SendWith(fd, []byte("gofabric"), 0) // with a descriptor that is not a memory
	must(t, err)
	var left [1]byte
	all(t, "an invalid hello is refused", func() bool { n, errno := netx.Recv(fd, left[:]); return n == 0 && errno != syscall.EAGAIN }, a)
	netx.Close(fd)
	if a.shmPeers() != 0 {
		t.Errorf("%d peers", a.shmPeers())
	}
	pending := func() (n int) { a.locked(func() { n = a.p.sameHost.listener.Pending() }); return n }
	if n := pending(); n != 0 {
		t.Errorf("%d connections without a hello are pending", n)
	}
	silent, err := netx.LocalConnect(shmSocketName(a.p.local))
	must(t, err)
	defer netx.Close(silent)
	all(t, "the silent connection is pending", func() bool { return pending() == 1 }, a)
	all(t, "the silent connection is closed", func() bool { return pending() == 0 }, a)
	meet(t, a, b)
	must(t, a.p.send(from, 0, []byte{1}))
	if err := a.p.send(from, 0, nil); err != nil && err != core.ErrConnRefused {
		t.Error(err)
	}
}
