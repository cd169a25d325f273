//go:build linux

package xdp

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"gofabric/test/need"
)

// echoed sends a datagram from a socket, and checks that it comes back.
func echoed(t *testing.T, s *net.UDPConn, to netip.AddrPort) {
	t.Helper()
	buf := make([]byte, 100)
	_, err := s.WriteToUDPAddrPort([]byte("echo"), to)
	must(t, err)
	n, from, err := s.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:n]) != "echo" || from.Port() != to.Port() {
		t.Fatalf("%q from %v, %v", buf[:n], from, err)
	}
}

// TestOtherProcess: only one process can use an interface. If that process is killed under load, none of its objects
// remain, and another process can use the interface.
func TestOtherProcess(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := netip.AddrPortFrom(a.v4, 7001)
	other, numbers := node(t, a, at)
	s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
	echoed(t, s, at)

	a.Enter()
	_, err := Open("eth9", Config{})
	var e *Error
	if !errors.As(err, &e) || e.Reason != OtherOwner || e.Interface != "eth9" ||
		!strings.Contains(err.Error(), e.Reason.Hint()) {
		t.Errorf("the interface of another process: %v", err)
	}
	if err := Probe("eth9", Config{}); !errors.Is(err, OtherOwner) {
		t.Errorf("the interface of another process: %v", err)
	}
	echoed(t, s, at) // the other process still works

	stop, flooded := make(chan struct{}), make(chan struct{})
	flood := listen(t, b, netip.AddrPortFrom(b.v4, 7009))
	go func() {
		defer close(flooded)
		for {
			select {
			case <-stop:
				return
			default:
				flood.WriteToUDPAddrPort([]byte("load"), at)
			}
		}
	}()
	buf := make([]byte, 100)
	for range 1000 {
		if _, _, err := flood.ReadFromUDPAddrPort(buf); err != nil {
			t.Fatal(err)
		}
	}
	must(t, other.Process.Kill())
	other.Wait()
	a.Enter()
	ifc, err := net.InterfaceByName("eth9")
	must(t, err)
	until(t, "the program's end", func() bool { return attachedTo(ifc.Index) == 0 })
	for _, n := range numbers {
		until(t, "the end of "+n, func() bool { return !exists(n) })
	}
	close(stop)
	<-flooded

	plain := listen(t, a, at) // the kernel gets the packets now
	_, err = s.WriteToUDPAddrPort([]byte("plain"), at)
	must(t, err)
	for {
		n, _, err := plain.ReadFromUDPAddrPort(buf)
		must(t, err)
		if string(buf[:n]) == "plain" {
			break
		}
	}
	_, p := openPort(t, a, Config{}, at)
	_, err = s.WriteToUDPAddrPort([]byte("again"), at)
	must(t, err)
	if got := payloadOf(t, take(t, p, 1)[0]); string(got) != "again" {
		t.Errorf("%q", got)
	}
	must(t, p.Close())
	_, err = s.WriteToUDPAddrPort([]byte("closed"), at)
	must(t, err)
	for {
		n, _, err := plain.ReadFromUDPAddrPort(buf)
		must(t, err)
		if string(buf[:n]) == "closed" {
			break
		}
	}
}

// TestOtherProgram: Open does not replace an XDP program of another owner.
func TestOtherProgram(t *testing.T) {
	a, _ := places(t, 1, 1500)
	a.Enter()
	ifc, err := net.InterfaceByName("eth9")
	must(t, err)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "another", Type: ebpf.XDP,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
	must(t, err)
	defer prog.Close()
	for _, flags := range []link.XDPAttachFlags{link.XDPDriverMode, link.XDPGenericMode} {
		l, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: ifc.Index, Flags: flags})
		must(t, err)
		for _, mode := range []Mode{Auto, Driver, Generic} {
			i, err := Open("eth9", Config{Mode: mode})
			if !errors.Is(err, OtherProgram) || !strings.Contains(err.Error(), "another") {
				t.Errorf("%v: %v, %v", mode, i, err)
			}
		}
		if err := Probe("eth9", Config{}); !errors.Is(err, OtherProgram) {
			t.Error(err)
		}
		if attachedTo(ifc.Index) == 0 {
			t.Error("the other program is gone")
		}
		must(t, l.Close())
	}
	if err := Probe("eth9", Config{}); err != nil {
		t.Error(err)
	}
}

// TestOtherTraffic: TCP and UDP traffic of other sockets is not affected in either direction while a port gets a
// flood of packets.
func TestOtherTraffic(t *testing.T) {
	a, b := places(t, 1, 1500)
	at, from := netip.AddrPortFrom(a.v4, 7001), netip.AddrPortFrom(b.v4, 7000)
	_, p := openPort(t, a, Config{}, at)
	_, q := openPort(t, b, Config{}, from)
	a.Enter()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at)) // the same port number, for TCP
	must(t, err)
	defer l.Close()
	b.Enter()
	c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(at))
	must(t, err)
	defer c.Close()
	a.Enter()
	d, err := l.AcceptTCP()
	must(t, err)
	defer d.Close()
	data := pattern(4<<20, 9)
	want := sha256.Sum256(data)
	done := make(chan error, 4)
	for _, ends := range [][2]*net.TCPConn{{c, d}, {d, c}} {
		must(t, ends[0].SetDeadline(time.Now().Add(patience)))
		go func() {
			_, err := ends[0].Write(data)
			done <- err
		}()
		go func() {
			got := make([]byte, len(data))
			_, err := io.ReadFull(ends[1], got)
			if err == nil && sha256.Sum256(got) != want {
				err = errors.New("the received bytes differ")
			}
			done <- err
		}()
	}
	x, y := listen(t, a, netip.AddrPortFrom(a.v4, 7002)), listen(t, b, netip.AddrPortFrom(b.v6, 7003))
	buf, f := make([]byte, 2000), make([]Frame, 64)
	load := packet(t, b, a, from, at, pattern(64, 1))
	flooded := 0
	for left := 4; left > 0; {
		put(t, q, load)
		n := p.Receive(f)
		flooded += n
		p.Release(f[:n])
		select {
		case err := <-done:
			must(t, err)
			left--
		default:
			runtime.Gosched()
		}
		if flooded%64 == 0 {
			// There is no socket at this port.
			_, err := y.WriteToUDPAddrPort([]byte("six"), netip.AddrPortFrom(a.v6, 7004))
			must(t, err)
			z := netip.AddrPortFrom(b.v4, 7000)
			_, err = x.WriteToUDPAddrPort([]byte("to the port"), z)
			must(t, err)
			n := q.Receive(f)
			for k := range f[:n] {
				if got := payloadOf(t, f[k].Data); !bytes.Equal(got, []byte("to the port")) {
					t.Fatalf("%q", got)
				}
			}
			q.Release(f[:n])
		}
	}
	if flooded == 0 {
		t.Error("there was no load")
	}
	w := listen(t, b, netip.AddrPortFrom(b.v4, 7005))
	_, err = w.WriteToUDPAddrPort([]byte("other"), netip.AddrPortFrom(a.v4, 7002))
	must(t, err)
	if n, _, err := x.ReadFromUDPAddrPort(buf); err != nil || string(buf[:n]) != "other" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// TestDownAndGone: an interface that is down sends nothing, and continues when it is up. After an interface was
// removed, calls return an error, and it can be closed as usual.
func TestDownAndGone(t *testing.T) {
	a, b := places(t, 1, 1500)
	from, to := netip.AddrPortFrom(a.v4, 7001), netip.AddrPortFrom(b.v4, 7002)
	i, p := openPort(t, a, Config{}, from)
	s := listen(t, b, to)
	send := func(what string) unix.Errno {
		t.Helper()
		var f [1]Frame
		if p.Reserve(f[:]) != 1 {
			t.Fatal("no frame")
		}
		f[0].Data = f[0].Data[:copy(f[0].Data, packet(t, a, b, from, to, []byte(what)))]
		if errno := p.Submit(f[:]); errno != 0 {
			t.Fatal(errno)
		}
		return p.Flush()
	}
	a.IP("link", "set", "eth9", "down")
	if errno := send("down"); errno != unix.ENETDOWN {
		t.Errorf("down: %v", errno)
	}
	if err := i.Err(); err != nil {
		t.Errorf("down: %v", err)
	}
	a.IP("link", "set", "eth9", "up")
	a.IP("neigh", "replace", b.v4.String(), "lladdr", net.HardwareAddr(b.mac[:]).String(), "dev", "eth9", "nud",
		"permanent")
	if errno := send("up"); errno != 0 {
		t.Errorf("up: %v", errno)
	}
	buf := make([]byte, 100)
	for _, want := range []string{"down", "up"} {
		if n, _, err := s.ReadFromUDPAddrPort(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("%q, %v, want %s", buf[:n], err, want)
		}
	}
	_, err := s.WriteToUDPAddrPort([]byte("back"), from)
	must(t, err)
	if got := payloadOf(t, take(t, p, 1)[0]); string(got) != "back" {
		t.Errorf("%q", got)
	}
	a.IP("link", "del", "eth9")
	until(t, "ENETDOWN", func() bool { return errors.Is(i.Err(), unix.ENETDOWN) })
	if errno := send("gone"); errno != unix.ENETDOWN && errno != unix.ENXIO {
		t.Errorf("gone: %v", errno)
	}
	if errno := p.SendPacket(packet(t, a, b, from, to, []byte("gone"))); !p.HasPacketSocket() || errno != unix.ENXIO &&
		errno != unix.ENODEV && errno != unix.ENETDOWN {
		t.Errorf("gone, with the packet socket: %v", errno)
	}
	if p.Receive(make([]Frame, 1)) != 0 {
		t.Error("packets from an interface that was removed")
	}
}

// TestReasons: the error names what is missing.
func TestReasons(t *testing.T) {
	a, _ := places(t, 1, 1500)
	a.Enter()
	check := func(what string, err error, want Reason) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.Reason != want || e.Interface == "" || e.Reason.Hint() == "" {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	open := func(name string, c Config) error {
		i, err := Open(name, c)
		if err == nil {
			t.Logf("%v", i)
			i.Close()
		}
		return err
	}
	must(t, Probe("eth9", Config{}))
	must(t, Probe("lo", Config{}))
	must(t, open("lo", Config{}))
	must(t, open("lo", Config{Mode: Generic}))
	check("lo", open("lo", Config{Mode: Driver}), NoDriverMode)
	check("veth", open("eth9", Config{ZeroCopy: ZeroCopyOnly}), NoZeroCopy)
	check("queues", open("lo", Config{Queues: 2}), QueueCount)
	check("nothing", open("nothing0", Config{}), NoInterface)
	check("nothing", Probe("nothing0", Config{}), NoInterface)
	a.IP("tuntap", "add", "dev", "tun9", "mode", "tun")
	a.IP("link", "set", "tun9", "up")
	check("tun", open("tun9", Config{}), NotEthernet)
	check("tun", Probe("tun9", Config{}), NotEthernet)
	for _, c := range []Config{{RxFrames: 3}, {TxFrames: -1}, {ChunkSize: 1024}, {ChunkSize: 8192}, {Queues: -1},
		{MaxPorts: -1}, {RxFrames: 1 << 20}} {
		if open("eth9", c) == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	i, err := Open("eth9", Config{MaxPorts: 2})
	must(t, err)
	var ports []*Port
	for n := range uint16(2) {
		p, err := i.Bind(netip.AddrPortFrom(a.v4, 7001+n))
		must(t, err)
		ports = append(ports, p)
	}
	_, err = i.Bind(netip.AddrPortFrom(a.v4, 7009))
	check("three ports", err, TooManyPorts)
	for _, at := range []string{"10.97.0.1:0", "224.0.0.1:7000", "[ff02::1]:7000"} {
		if _, err := i.Bind(netip.MustParseAddrPort(at)); err == nil {
			t.Errorf("%s can be bound", at)
		}
	}
	must(t, ports[0].Close())
	p, err := i.Bind(netip.AddrPortFrom(a.v4, 7009))
	must(t, err)
	must(t, p.Close())
	must(t, ports[1].Close())
	i.Close()
	a.IP("link", "set", "eth9", "down")
	check("down", open("eth9", Config{}), InterfaceDown)
	check("down", Probe("eth9", Config{}), InterfaceDown)
}

// TestWithoutPrivilege removes capabilities from its thread, which ends with the test.
func TestWithoutPrivilege(t *testing.T) {
	need.Root(t, "loading XDP programs")
	for _, c := range []struct {
		drop []int
		want Reason
	}{
		{[]int{unix.CAP_NET_RAW}, NoRaw},
		{[]int{unix.CAP_BPF, unix.CAP_SYS_ADMIN}, NoBPF},
		{[]int{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}, NoBPF},
		{[]int{unix.CAP_IPC_LOCK}, NoMemlock},
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked: the runtime ends the thread with the goroutine
			if c.want == NoMemlock {
				var lim unix.Rlimit
				must(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim))
				defer unix.Setrlimit(unix.RLIMIT_MEMLOCK, &lim)
				must(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: 4096, Max: lim.Max}))
			}
			h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var d [2]unix.CapUserData
			must(t, unix.Capget(&h, &d[0]))
			for _, n := range c.drop {
				d[n/32].Effective &^= 1 << (n % 32)
			}
			must(t, unix.Capset(&h, &d[0]))
			if err := Probe("lo", Config{}); !errors.Is(err, c.want) {
				t.Errorf("without %v: %v", c.drop, err)
			}
			if i, err := Open("lo", Config{}); !errors.Is(err, c.want) {
				t.Errorf("without %v: %v, %v", c.drop, i, err)
			} else {
				t.Log(fmt.Sprint(err))
			}
		}()
		<-done
	}
}
