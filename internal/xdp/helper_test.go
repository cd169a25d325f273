//go:build linux

package xdp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
)

func TestMain(m *testing.M) {
	if os.Getenv(nodeVar) != "" {
		nodeMain()
		return
	}
	goleak.VerifyTestMain(m)
}

// lacking ends a test whose prerequisites are not there.
func lacking(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("GOFABRIC_PEERS") == "required" {
		t.Fatalf("GOFABRIC_PEERS=required, but "+format, args...)
	}
	t.Skipf(format, args...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// needRoot ends a test that loads programs, if it may not.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		lacking(t, "XDP programs and network namespaces need root")
	}
}

// place is a network namespace with one end of a cable, eth9.
type place struct {
	t      testing.TB
	name   string
	v4, v6 netip.Addr
	mac    frame.MAC
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func (h *place) ip(args ...string) {
	h.t.Helper()
	run(h.t, "ip", append([]string{"-n", h.name}, args...)...)
}

// enter takes the calling thread there: what it opens stays there.
func (h *place) enter() {
	h.t.Helper()
	f, err := os.Open("/run/netns/" + h.name)
	must(h.t, err)
	defer f.Close()
	must(h.t, unix.Setns(int(f.Fd()), unix.CLONE_NEWNET))
}

var placesMade atomic.Int32

// places makes two namespaces that a cable with so many queues connects. The test's goroutine keeps its thread.
func places(t testing.TB, queues, mtu int) (a, b *place) {
	t.Helper()
	needRoot(t)
	if _, err := exec.LookPath("ip"); err != nil {
		lacking(t, "there is no ip(8): apt install iproute2")
	}
	base := fmt.Sprintf("gofabric-xdp-%d-%d", os.Getpid(), placesMade.Add(1))
	both := []*place{{t: t, name: base + "a"}, {t: t, name: base + "b"}}
	for _, h := range both {
		if out, err := exec.Command("ip", "netns", "add", h.name).CombinedOutput(); err != nil {
			lacking(t, "network namespaces cannot be made here: %v: %s", err, out)
		}
		t.Cleanup(func() { exec.Command("ip", "netns", "del", h.name).Run() })
	}
	n := fmt.Sprint(queues)
	args := []string{"-n", both[0].name, "link", "add", "eth9", "numtxqueues", n, "numrxqueues", n, "type", "veth",
		"peer", "name", "eth9", "numtxqueues", n, "numrxqueues", n, "netns", both[1].name}
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		lacking(t, "veth interfaces cannot be made here: %v: %s", err, out)
	}
	runtime.LockOSThread() // and never unlock: a thread elsewhere must not serve other goroutines
	for i, h := range both {
		h.v4, h.v6 = netip.AddrFrom4([4]byte{10, 97, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd97::%d", i+1))
		h.ip("link", "set", "lo", "up")
		h.ip("link", "set", "eth9", "mtu", fmt.Sprint(mtu), "up")
		h.ip("addr", "add", h.v4.String()+"/24", "dev", "eth9")
		h.ip("addr", "add", h.v6.String()+"/64", "dev", "eth9", "nodad")
		h.enter()
		ifc, err := net.InterfaceByName("eth9")
		must(t, err)
		h.mac = frame.MAC(ifc.HardwareAddr)
	}
	for i, h := range both { // the tests' headers are fixed, and so are the kernel's
		other := both[1-i]
		h.ip("neigh", "replace", other.v4.String(), "lladdr", net.HardwareAddr(other.mac[:]).String(), "dev", "eth9", "nud", "permanent")
		h.ip("neigh", "replace", other.v6.String(), "lladdr", net.HardwareAddr(other.mac[:]).String(), "dev", "eth9", "nud", "permanent")
	}
	for i, h := range both {
		h.hears(both[1-i])
	}
	return both[0], both[1]
}

// hears returns when IPv6 datagrams of the other place come: the kernel sets an interface's routes up some time after it is up.
func (h *place) hears(other *place) {
	h.t.Helper()
	h.enter()
	in, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.v6, 0)))
	must(h.t, err)
	defer in.Close()
	other.enter()
	out, err := net.DialUDP("udp", nil, in.LocalAddr().(*net.UDPAddr))
	must(h.t, err)
	defer out.Close()
	for end := time.Now().Add(patience); ; {
		out.Write([]byte{1}) // ECONNREFUSED may be about the last one
		must(h.t, in.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		if _, err := in.Read(make([]byte, 10)); err == nil {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("nothing goes from %s to %s", other.name, h.name)
		}
	}
}

// packet builds a frame with right checksums. Tags are VLANs from the outside.
func packet(t testing.TB, src, dst *place, from, to netip.AddrPort, payload []byte, tags ...frame.Tag) []byte {
	t.Helper()
	c := frame.Config{SrcMAC: src.mac, DstMAC: dst.mac, Src: from, Dst: to}
	copy(c.Tags[:], tags)
	var h frame.Header
	must(t, h.Init(&c))
	b := make([]byte, h.Len()+len(payload))
	if n := h.Put(b, payload, 1); n != len(b) {
		t.Fatalf("a frame of %d bytes, want %d", n, len(b))
	}
	return b
}

// payloadOf checks a frame as the kernel would and returns its payload.
func payloadOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var d frame.Datagram
	r := frame.Rules{Unfinished: true}
	if why := r.Parse(&d, b); why != frame.Accepted {
		t.Fatalf("%d bytes: %v", len(b), why)
	}
	return d.Payload
}

// openPort opens an interface in a namespace, and a port there with its companion socket.
func openPort(t testing.TB, h *place, c Config, at netip.AddrPort) (*Interface, *Port) {
	t.Helper()
	h.enter()
	i, err := Open("eth9", c)
	must(t, err)
	t.Cleanup(i.Close)
	p, err := i.Bind(at)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return i, p
}

// listen opens a socket in a namespace.
func listen(t testing.TB, h *place, at netip.AddrPort) *net.UDPConn {
	t.Helper()
	h.enter()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// patience is how long tests wait for what must come.
const patience = 20 * time.Second

// await waits until the port's descriptor is readable and calls f, until that is true.
func await(t testing.TB, p *Port, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); {
		left := time.Until(end)
		if left <= 0 {
			st, _ := p.i.Stats()
			t.Fatalf("%s did not come; %v, %+v", what, p.i, st)
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(p.FD()), Events: unix.POLLIN}}, int(left.Milliseconds())); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
	}
}

// take receives whole packets, copied, until there are n.
func take(t testing.TB, p *Port, n int) [][]byte {
	t.Helper()
	var got [][]byte
	var f [64]Frame
	more := false
	await(t, p, fmt.Sprintf("%d packets", n), func() bool {
		k := p.Receive(f[:])
		for _, x := range f[:k] {
			if more {
				got[len(got)-1] = append(got[len(got)-1], x.Data...)
			} else {
				got = append(got, append([]byte(nil), x.Data...))
			}
			more = x.More
		}
		p.Release(f[:k])
		return len(got) >= n
	})
	return got
}

// put transmits a packet in as many frames as it takes.
func put(t testing.TB, p *Port, b []byte) {
	t.Helper()
	size := p.i.Chunk()
	f := make([]Frame, (len(b)+size-1)/size)
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		n := p.Reserve(f)
		if n == len(f) {
			break
		}
		p.Discard(f[:n])
		if time.Now().After(end) {
			t.Fatal("no frames to transmit")
		}
	}
	for k := range f {
		n := copy(f[k].Data, b)
		f[k].Data, f[k].More = f[k].Data[:n], k+1 < len(f)
		b = b[n:]
	}
	if errno := p.Submit(f); errno != 0 {
		t.Fatal(errno)
	}
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		errno := p.Flush()
		if errno == 0 {
			return
		}
		if errno != unix.EAGAIN || time.Now().After(end) {
			t.Fatal(errno)
		}
	}
}
