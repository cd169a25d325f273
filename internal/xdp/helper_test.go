//go:build linux

package xdp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
	"gofabric/test/veth"
	"gofabric/test/wait"
)

func TestMain(m *testing.M) {
	if os.Getenv(nodeVar) != "" {
		nodeMain()
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a host with one end of a cable, eth9.
type place struct {
	*veth.Host
	v4, v6 netip.Addr
	mac    frame.MAC
}

// places makes two hosts, connected by a cable with the given number of queues. The test's goroutine keeps its
// thread.
func places(t testing.TB, queues, mtu int) (a, b *place) {
	t.Helper()
	x, y := veth.Pair(t, veth.Options{Net: 97, Queues: queues, MTU: mtu})
	a, b = newPlace(x), newPlace(y)
	// The tests' headers have fixed addresses, and so must the kernel's.
	for _, ends := range [][2]*place{{a, b}, {b, a}} {
		for _, to := range []netip.Addr{ends[1].v4, ends[1].v6} {
			ends[0].IP("neigh", "replace", to.String(), "lladdr", net.HardwareAddr(ends[1].mac[:]).String(), "dev",
				veth.End, "nud", "permanent")
		}
	}
	a.awaitDatagrams(b)
	b.awaitDatagrams(a)
	return a, b
}

func newPlace(h *veth.Host) *place {
	return &place{Host: h, v4: h.V4, v6: h.V6, mac: frame.MAC(h.Interface(veth.End).HardwareAddr)}
}

// awaitDatagrams returns when IPv6 datagrams of the other place arrive. The kernel adds an interface's routes some time after
// the interface is up.
func (h *place) awaitDatagrams(other *place) {
	h.T.Helper()
	h.Enter()
	in, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.v6, 0)))
	must(h.T, err)
	defer in.Close()
	other.Enter()
	out, err := net.DialUDP("udp", nil, in.LocalAddr().(*net.UDPAddr))
	must(h.T, err)
	defer out.Close()
	for end := time.Now().Add(patience); ; {
		out.Write([]byte{1}) // an ECONNREFUSED may belong to the last one
		must(h.T, in.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		if _, err := in.Read(make([]byte, 10)); err == nil {
			return
		}
		if time.Now().After(end) {
			h.T.Fatalf("no datagram of %s reaches %s", other.Name, h.Name)
		}
	}
}

// packet builds a frame with correct checksums. The first tag is the outermost VLAN.
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

// openPort opens an interface in a namespace, and a port with its companion socket there.
func openPort(t testing.TB, h *place, c Config, at netip.AddrPort) (*Interface, *Port) {
	t.Helper()
	h.Enter()
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
	h.Enter()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// patience is the longest time that a test waits for an expected event.
const patience = wait.Limit

// await waits until the port's descriptor is readable and then calls f, until f returns true.
func await(t testing.TB, p *Port, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); {
		left := time.Until(end)
		if left <= 0 {
			st, _ := p.i.Stats()
			t.Fatalf("%s did not come; %v, %+v", what, p.i, st)
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(p.FD()), Events: unix.POLLIN}},
			int(left.Milliseconds())); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
	}
}

// take receives n whole packets, and returns copies.
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

// put transmits a packet, in as many frames as it needs.
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
