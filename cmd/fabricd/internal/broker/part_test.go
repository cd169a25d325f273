//go:build linux

package broker

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/fabricd"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/door"
	"gofabric/test/cable"
	"gofabric/test/program"
)

// answers sends a datagram from each of n ports to an address, in the thread's namespace, and counts by which way they were answered. None may be lost.
func answers(t *testing.T, to netip.AddrPort, n int) (express, sockets int) {
	t.Helper()
	for range n {
		s, err := net.ListenUDP("udp4", nil)
		must(t, err)
		buf := make([]byte, 100)
		for try := 0; ; try++ { // the neighbour's address may have to be asked for
			s.WriteToUDPAddrPort([]byte("?hello"), to)
			s.SetReadDeadline(time.Now().Add(2 * time.Second))
			k, _, err := s.ReadFromUDPAddrPort(buf)
			if err == nil && string(buf[1:k]) == "hello" {
				break
			}
			if try == 5 {
				t.Fatalf("no answer from %v: %q, %v", to, buf[:k], err)
			}
		}
		s.Close()
		if buf[0] == 'x' {
			express++
		} else {
			sockets++
		}
	}
	return express, sockets
}

// TestLend: processes of two users have an interface of two queues at the same time; what each has is free again when it is killed.
func TestLend(t *testing.T) {
	s := newSite(t)
	a, b := cable.Pair(t, cable.Options{Net: 96, Queues: 2})
	a.Enter()
	s.daemon("--xdp-users 65534,65533")
	first, says := s.client(netip.AddrPortFrom(a.V4, 7001), 65534)
	if !strings.HasPrefix(says, "ready AF_XDP on eth9, driver mode") {
		t.Fatal(says)
	}
	second, says := s.client(netip.AddrPortFrom(a.V4, 7002), 65533)
	if !strings.HasPrefix(says, "ready") {
		t.Fatal(says)
	}
	if _, says := s.client(netip.AddrPortFrom(a.V4, 7003), 65533); !strings.Contains(says, xdp.AllLent.Error()) || !strings.Contains(says, "ethtool -L") || !strings.Contains(says, "probe: true") {
		t.Errorf("a third process: %s", says)
	}
	b.Enter()
	for _, port := range []uint16{7001, 7002} {
		express, sockets := answers(t, netip.AddrPortFrom(a.V4, port), 32)
		t.Logf("port %d: %d past the stack, %d through sockets", port, express, sockets)
		if express == 0 || sockets == 0 {
			t.Errorf("port %d: %d past the stack, %d through sockets: each process has one of two queues", port, express, sockets)
		}
	}
	first.Kill()
	a.Enter()
	third, says := s.client(netip.AddrPortFrom(a.V4, 7001), 65533) // the same port
	if !strings.HasPrefix(says, "ready") {
		t.Fatalf("after the first was killed: %s", says)
	}
	b.Enter()
	if express, _ := answers(t, netip.AddrPortFrom(a.V4, 7001), 32); express == 0 {
		t.Error("nothing came past the stack")
	}
	second.Kill()
	third.Kill()
	program.Until(t, "the end of the program", func() bool { return !strings.Contains(a.IP("link", "show", cable.End), "xdp") })
}

// TestDaemonDies: who has borrowed goes on through its socket.
func TestDaemonDies(t *testing.T) {
	s := newSite(t)
	a, b := cable.Pair(t, cable.Options{Net: 96, Queues: 1})
	a.Enter()
	d := s.daemon("--xdp-groups 65534")
	at := netip.AddrPortFrom(a.V4, 7001)
	if _, says := s.client(at, 65534); !strings.HasPrefix(says, "ready") {
		t.Fatal(says)
	}
	b.Enter()
	if _, sockets := answers(t, at, 8); sockets > 0 {
		t.Errorf("%d of 8 answers through sockets, though there is one queue", sockets)
	}
	d.Kill()
	program.Until(t, "the end of the program", func() bool { return !strings.Contains(a.IP("link", "show", cable.End), "xdp") })
	if express, _ := answers(t, at, 8); express > 0 {
		t.Errorf("%d of 8 answers past the stack", express)
	}
}

// TestRefusals: who may not, who is elsewhere, and who asks for what is not his.
func TestRefusals(t *testing.T) {
	s := newSite(t)
	a, b := cable.Pair(t, cable.Options{Net: 96, Queues: 1})
	a.Enter()
	s.daemon("--xdp-users 65534")
	if _, says := s.client(netip.AddrPortFrom(a.V4, 7001), 65533); !strings.Contains(says, xdp.NotAllowed.Error()) || !strings.Contains(says, "xdp-users") || !strings.Contains(says, "probe: true") {
		t.Errorf("another user: %s", says)
	}
	b.Enter()
	if _, says := s.client(netip.AddrPortFrom(b.V4, 7001), 65534); !strings.Contains(says, xdp.OtherHost.Error()) {
		t.Errorf("another namespace: %s", says)
	}
	a.Enter()
	c, err := door.Dial(filepath.Join(s.dir, fabricd.XDP))
	must(t, err)
	defer c.Close()
	ifc, err := net.InterfaceByName(cable.End)
	must(t, err)
	mine, free, tcp := socketAt(t, unix.SOCK_DGRAM, a.V4, false), socketAt(t, unix.SOCK_DGRAM, netip.MustParseAddr("10.99.99.99"), true), socketAt(t, unix.SOCK_STREAM, a.V4, false)
	at := func(ip netip.Addr, fd int) netip.AddrPort {
		sa, err := unix.Getsockname(fd)
		must(t, err)
		return netip.AddrPortFrom(ip, uint16(sa.(*unix.SockaddrInet4).Port))
	}
	open := door.Request{Op: door.Open, Interface: cable.End, Index: ifc.Index, Mode: int(xdp.Generic)}
	wrong, many := open, open
	wrong.Index++
	many.Queues = 2
	for n, step := range []struct {
		r      door.Request
		files  []int
		reason xdp.Reason
		says   string // "" is success
	}{
		{door.Request{Op: door.Bind, Address: at(a.V4, mine)}, []int{mine}, 0, "open an interface first"},
		{open, nil, 0, "a socket that shows"},
		{wrong, []int{mine}, xdp.NoInterface, ""},
		{many, []int{mine}, xdp.AllLent, "1 of 1 are free"},
		{door.Request{Op: "grab"}, nil, 0, "open an interface first"},
		{open, []int{mine}, 0, ""},
		{open, []int{mine}, 0, "one interface for each"},
		{door.Request{Op: "grab"}, nil, 0, "no such request"},
		{door.Request{Op: door.Bind, Address: at(a.V4, mine)}, nil, 0, "is missing"},
		{door.Request{Op: door.Bind, Address: netip.AddrPortFrom(a.V4, 53)}, []int{mine}, xdp.NotYours, "not to"},
		{door.Request{Op: door.Bind, Address: at(netip.MustParseAddr("10.99.99.99"), free)}, []int{free}, xdp.NotYours, "no address of this host"},
		{door.Request{Op: door.Bind, Address: at(a.V4, tcp)}, []int{tcp}, xdp.NotYours, "none of UDP"},
		{door.Request{Op: door.Bind, Address: at(a.V4, mine)}, []int{mine}, 0, ""},
		{door.Request{Op: door.Unbind, Address: at(a.V4, mine)}, nil, 0, ""},
		{door.Request{Op: door.MTU}, nil, 0, ""},
	} {
		must(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		must(t, c.Send(&step.r, step.files...))
		var got door.Answer
		files, err := c.Receive(&got, door.QueuesMax+1)
		must(t, err)
		door.CloseAll(files)
		ok := step.says == "" && step.reason == 0
		if (got.Refusal == "") != ok || xdp.Reason(got.Reason) != step.reason || !strings.Contains(got.Refusal, step.says) {
			t.Errorf("step %d, %+v: %+v", n, step.r, got)
		}
	}
	c.Send("no request")
	if _, err := c.Receive(&door.Answer{}, 1); err == nil {
		t.Error("what is no request is answered")
	}
	program.Until(t, "the queue's return", func() bool {
		_, says := s.client(netip.AddrPortFrom(a.V4, 7001), 65534)
		return strings.HasPrefix(says, "ready")
	})
}

// socketAt opens a socket at an address.
func socketAt(t *testing.T, typ int, ip netip.Addr, anywhere bool) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, typ|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	if anywhere {
		must(t, unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_FREEBIND, 1))
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: ip.As4()}); err != nil {
		t.Fatal(fmt.Errorf("%v: %w", ip, err))
	}
	return fd
}

// TestReturns: a daemon has nothing left of processes that come and go, whether they say so or not.
func TestReturns(t *testing.T) {
	s := newSite(t)
	a, _ := cable.Pair(t, cable.Options{Net: 96, Queues: 2})
	a.Enter()
	d := s.daemon("")
	ifc, err := net.InterfaceByName(cable.End)
	must(t, err)
	mine := socketAt(t, unix.SOCK_DGRAM, a.V4, false)
	sa, err := unix.Getsockname(mine)
	must(t, err)
	at := netip.AddrPortFrom(a.V4, uint16(sa.(*unix.SockaddrInet4).Port))
	files := func() int {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.Cmd.Process.Pid))
		must(t, err)
		return len(all)
	}
	var before int
	for round := range 12 {
		c, err := door.Dial(filepath.Join(s.dir, fabricd.XDP))
		must(t, err)
		must(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		for n, r := range []door.Request{
			{Op: door.Open, Interface: cable.End, Index: ifc.Index, Mode: int(xdp.Generic), Queues: 2},
			{Op: door.Bind, Address: at}, {Op: door.Bind, Address: at}, {Op: door.Unbind, Address: at}, {Op: door.Bind, Address: at},
		} {
			must(t, c.Send(&r, mine))
			var got door.Answer
			lent, err := c.Receive(&got, door.QueuesMax+1)
			must(t, err)
			door.CloseAll(lent)
			if got.Refusal != "" || (n == 0) != (len(lent) == 3) {
				t.Fatalf("round %d, %s: %+v with %d descriptors", round, r.Op, got, len(lent))
			}
		}
		switch round % 3 {
		case 1:
			must(t, c.Send(&door.Request{Op: "nothing"}, mine)) // and no look at the answer
		case 2:
			c.Send(7)
		}
		c.Close()
		program.Until(t, "the end of the loan", func() bool { return !strings.Contains(a.IP("link", "show", cable.End), "xdp") })
		if round < 3 {
			before = files()
			continue
		}
		program.Until(t, fmt.Sprintf("round %d: a daemon with %d descriptors", round, before), func() bool { return files() <= before })
	}
}
